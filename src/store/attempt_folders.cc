#include "store/attempt_folders.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <sys/stat.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/own_cache.h"
#include "base/path_kind.h"
#include "base/random.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {
namespace {

constexpr std::string_view kPrefix = "attempt-";

// Returns when the file was changed, in nanoseconds since 1970; 0 if it cannot be looked at.
int64_t changed(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) return 0;
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

// Returns when the run of an attempt last wrote its status or took its lock.
int64_t last_sign(const std::string& attempt) {
  const RunFiles files(attempt);
  return std::max(changed(files.status()), changed(files.lock()));
}

}  // namespace

bool is_attempt_name(std::string_view name) {
  constexpr size_t kDigits = 16;
  return name.starts_with(kPrefix) && name.size() == kPrefix.size() + kDigits &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

std::string new_attempt_name() { return std::string(kPrefix) + random_hex(); }

std::string attempts_dir(const std::string& cache_dir) {
  return RunFiles(cache_dir).own_attempts();
}

std::string attempts_dir_of_output(const std::string& output) {
  return hidden_beside(output, ".attempts");
}

std::vector<std::string> attempts_in(const std::string& directory) {
  if (!is_directory(directory, "io.list")) return {};
  std::vector<std::string> paths;
  for (const std::string& name : list_directory(directory)) {
    if (is_attempt_name(name)) paths.push_back(join_path(directory, name));
  }
  return paths;
}

std::vector<std::string> earlier_runs(const std::string& cache_dir, const std::string& attempt) {
  std::vector<std::string> runs = attempts_in(attempts_dir(cache_dir));
  std::erase(runs, attempt);
  std::ranges::stable_sort(runs, std::ranges::greater(), last_sign);
  runs.push_back(cache_dir);
  return runs;
}

std::string current_run_dir(const std::string& cache_dir) {
  try {
    // A run in an attempt writes LOCK in the cache directory, too, so there only the status counts.
    const std::string newest = earlier_runs(cache_dir, "").front();
    const bool later = last_sign(newest) >= changed(RunFiles(cache_dir).status());
    return newest != cache_dir && last_sign(newest) > 0 && later ? newest : cache_dir;
  } catch (const Error&) {
    return cache_dir;
  }
}

}  // namespace encode
