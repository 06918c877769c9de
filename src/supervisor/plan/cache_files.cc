#include "supervisor/plan/cache_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "base/utf8.h"
#include "store/layout.h"

namespace encode {
namespace {

// A file of a cache directory. One of the two texts is near the beginning of each file that encode
// has written under this name, unless power loss has left a file that is empty or no text. Versions
// before 0.2.0 wrote products.json, and products_lock below.
struct CacheFile {
  std::string_view name;
  std::string_view mark;
  std::string_view other_mark;
};

constexpr auto kCacheFiles = std::to_array<CacheFile>({
    {"attempts.json", "\"fingerprints\"", "\"failures\""},
    {kCommitProbe, kCommitProbeText, kCommitProbeText},
    {"job.json", "\"cache_dir\"", "\"units\""},
    {"model_hashes.json", "\"entries\"", "\"version\""},
    {"products.json", "\"checksum\"", "\"cublaslt\""},
    {"self_test.json", "\"checksum\"", "\"vectors\""},
    {"status.json", "\"boot_id\"", "\"monotonic_seconds\""},
});
constexpr std::array<std::string_view, 7> kOtherNames = {
    "LOCK",         "encode.log",         "faults.jsonl", "faults.older.jsonl",
    "memory.jsonl", "memory.older.jsonl", "products_lock"};
constexpr std::string_view kRejectedSuffix = ".rejected.jsonl";
// The copy of standard input: the name of the stream with one of these.
constexpr std::array<std::string_view, 3> kInputSuffixes = {".stdin", ".stdin.gz", ".stdin.zst"};
constexpr int64_t kHeadBytes = 64 << 10;

bool has_suffix(std::string_view name) {
  return name.ends_with(kRejectedSuffix) ||
         std::any_of(kInputSuffixes.begin(), kInputSuffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

// Returns "job.json" for "job.7.json", and every other name as it is.
std::string_view plain_name(std::string_view name) {
  constexpr std::string_view kPrefix = "job.";
  constexpr std::string_view kSuffix = ".json";
  if (name.size() <= kPrefix.size() + kSuffix.size() || !name.starts_with(kPrefix) ||
      !name.ends_with(kSuffix))
    return name;
  const std::string_view number =
      name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  const bool digits = number.size() <= 3 && number.find_first_not_of("0123456789") == number.npos;
  return digits ? std::string_view("job.json") : name;
}

const CacheFile* known_file(std::string_view name) {
  const auto* found =
      std::find_if(kCacheFiles.begin(), kCacheFiles.end(),
                   [&](const CacheFile& file) { return file.name == plain_name(name); });
  return found == kCacheFiles.end() ? nullptr : found;
}

bool is_known_file(std::string_view name) { return known_file(name) != nullptr; }

bool is_cache_file_name(std::string_view name) {
  return is_known_file(name) || has_suffix(name) ||
         std::find(kOtherNames.begin(), kOtherNames.end(), name) != kOtherNames.end();
}

bool is_regular(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) throw system_error("io.stat", "stat", path, errno);
  return S_ISREG(info.st_mode);
}

std::string head_of(const std::string& path) {
  const UniqueFd fd = open_for_reading(path, "io.read");
  std::string head(static_cast<size_t>(std::min(file_size(fd, path), kHeadBytes)), '\0');
  pread_all(fd, head, 0, path);
  return head;
}

bool is_own(const std::string& path, const CacheFile& file) {
  if (!is_regular(path)) return false;
  const std::string head = head_of(path);
  return !may_begin_text(head) || head.find(file.mark) != std::string::npos ||
         head.find(file.other_mark) != std::string::npos;
}

// Returns true if encode has written this file of a cache directory.
bool may_be_removed(const std::string& path, const std::string& name) {
  if (!is_regular(path)) return false;
  if (const std::optional<std::string> target = temp_file_target(name))
    return is_cache_file_name(*target);
  if (const CacheFile* file = known_file(name)) return is_own(path, *file);
  if (has_suffix(name)) return true;
  if (!is_cache_file_name(name)) return false;
  const std::string head = head_of(path);
  if (head.empty() || !may_begin_text(head)) return true;
  if (name == "encode.log") return begins_like_log(head);
  return head.starts_with(R"({"encode":")");  // the records of faults and of the memory
}

}  // namespace

// Every record of a log begins with a time: "2026-01-31T12:00:00.000+00:00 info ...".
bool begins_like_log(std::string_view head) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000";
  if (head.size() < kForm.size()) return false;
  return std::equal(kForm.begin(), kForm.end(), head.begin(), [](char form, char c) {
    return form == '0' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : form == c;
  });
}

std::vector<std::string> remove_cache_directory(const std::string& cache_dir,
                                                const std::string& stream) {
  std::vector<std::string> left;
  remove_chunks(cache_dir, stream);
  for (const std::string& name : list_directory(cache_dir)) {
    const std::string path = fmt::format("{}/{}", cache_dir, name);
    // NFS keeps a deleted file that is open under such a name.
    const bool is_input =
        std::any_of(kInputSuffixes.begin(), kInputSuffixes.end(),
                    [&](std::string_view suffix) { return name == stream + std::string(suffix); });
    if (name == kLockFile || is_input || name.starts_with(".nfs")) continue;
    if (may_be_removed(path, name)) {
      remove_file(path);
    } else {
      left.push_back(name);
    }
  }
  // From here on another run may use the directory.
  remove_file(fmt::format("{}/{}", cache_dir, kLockFile));
  if (::rmdir(cache_dir.c_str()) == 0) {
    sync_directory(parent_directory(cache_dir));
  } else if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR && errno != ENOENT) {
    throw system_error("io.remove", "delete folder", cache_dir, errno);
  }
  return left;
}

bool is_store_file(const std::string& directory, const std::string& name) {
  const bool chunks = entry_exists(directory + "/chunks.log", "io.stat") ||
                      entry_exists(directory + "/stream.json", "io.stat");
  if (chunks) return true;
  return is_cache_file_name(name) &&
         entry_exists(fmt::format("{}/{}", directory, kLockFile), "io.stat");
}

std::string job_file_name(size_t worker) {
  return worker == 0 ? "job.json" : fmt::format("job.{}.json", worker);
}

void check_cache_files(const std::string& cache_dir) {
  for (const std::string& name : list_directory(cache_dir)) {
    const CacheFile* file = known_file(name);
    const std::string path = fmt::format("{}/{}", cache_dir, name);
    // A run deletes or replaces the lists of rejected rows and copies of the standard input.
    const bool own = file != nullptr
                         ? is_own(path, *file)
                         : !has_suffix(name) || path_kind(path, "io.stat") != PathKind::kDirectory;
    if (own) continue;
    throw Error(
        {.exit_code = ExitCode::kCantCreate,
         .code = "output.exists",
         .what = "the cache directory has a file that encode did not write",
         .where = path,
         .expected = "no file, or the file of an earlier run",
         .found = "another file",
         .hint =
             "move the file away, or give the run a directory of its own with --cache-dir DIR"});
  }
}

void sweep_cache_files(const std::string& cache_dir) {
  for (const std::string& name : list_directory(cache_dir)) {
    const std::optional<std::string> target = temp_file_target(name);
    if (target && (is_known_file(*target) || has_suffix(*target)))
      remove_file(fmt::format("{}/{}", cache_dir, name));
  }
}

}  // namespace encode
