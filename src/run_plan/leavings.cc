#include "run_plan/leavings.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "encode/error.h"

#include "base/file.h"
#include "base/own_cache.h"
#include "base/path_kind.h"
#include "store/layout.h"
#include "run_record/finished_run.h"

namespace encode {
namespace {

constexpr ErrorCode kListCode = "io.read";

// The records of the list are objects whose first key is "file"; see rejected_line().
bool is_foreign_list(const std::string& path) {
  if (!entry_exists(path, kListCode)) return false;
  if (path_kind(path, kListCode) != PathKind::kFile) return true;
  constexpr std::string_view kBegin = R"({"file":)";
  const UniqueFd fd = open_for_reading(path, kListCode);
  std::string head(static_cast<size_t>(std::min(file_size(fd, path), std::ssize(kBegin))), '\0');
  pread_all(fd, head, 0, path);
  return !head.empty() && head != kBegin;
}

void copy_durably(const std::string& from, const std::string& to) {
  constexpr int64_t kBlockBytes = 1 << 20;
  const UniqueFd fd = open_for_reading(from, kListCode);
  const int64_t size = file_size(fd, from);
  AtomicFile copy(to, size);
  std::string block;
  for (int64_t at = 0; at < size; at += std::ssize(block)) {
    block.resize(static_cast<size_t>(std::min(kBlockBytes, size - at)));
    pread_all(fd, block, at, from);
    copy.write(block.data(), block.size());
  }
  copy.commit();
}

// A record that cannot be read is replaced.
bool has_record_of(const std::string& output, const Manifest& manifest) {
  try {
    const std::optional<FinishedRun> run = read_finished_run(output);
    return run && run->xxh3_128 == manifest.xxh3_128;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kData || error.exit_code() == ExitCode::kConfig)
      return false;
    throw;
  }
}

}  // namespace

void check_leavings(const StoreOptions& store, const OutputGuard& guard) {
  if (!has_own_cache(store)) return;
  const std::string list = rejected_rows_path(store.output);
  guard.check_beside(list, is_foreign_list(list));
  guard.check_beside(finished_run_path(store.output), is_foreign_finished_run(store.output));
}

void leave_rejected_rows(const StreamPlan& stream) {
  const std::string path = rejected_rows_path(stream.final_path);
  if (!stream.rejected_path.empty()) {
    copy_durably(stream.rejected_path, path);
  } else if (!is_foreign_list(path)) {
    remove_file(path);
  }
}

void leave_record(const StreamPlan& stream, const std::string& cache_dir, bool encoded_nothing) {
  const std::optional<Manifest> manifest = read_manifest(stream.final_path);
  if (encoded_nothing && has_record_of(stream.final_path, *manifest)) return;
  FinishedRun run = collect_finished_run(cache_dir);
  run.xxh3_128 = manifest->xxh3_128;
  run.model = stream.model_path;
  write_finished_run(stream.final_path, run);
}

}  // namespace encode
