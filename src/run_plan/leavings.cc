#include "run_plan/leavings.h"

#include <filesystem>
#include <optional>
#include <string_view>

#include "encode/error.h"

#include "base/file.h"
#include "base/own_cache.h"
#include "base/own_files.h"
#include "base/path_kind.h"
#include "run_plan/cache_files.h"
#include "run_record/finished_run.h"
#include "store/file_list.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {
namespace {

constexpr ErrorCode kListCode = "io.read";

// The records of the list are objects whose first key is "file"; see rejected_line().
bool is_foreign_list(const std::string& path) {
  if (!entry_exists(path, kListCode)) return false;
  if (path_kind(path, kListCode) != PathKind::kFile) return true;
  constexpr std::string_view kBegin = R"({"file":)";
  const std::string head = read_head(path, std::ssize(kBegin), kListCode);
  return !head.empty() && head != kBegin;
}

void copy_durably(const std::string& from, const std::string& to) {
  const UniqueFd fd = open_for_reading(from, kListCode);
  const int64_t size = file_size(fd, from);
  AtomicFile copy(to, size);
  for_blocks(fd, size, from,
             [&copy](std::string_view block) { copy.write(block.data(), block.size()); });
  copy.commit();
}

// Returns the options that the user has given to a run in an attempt.
StoreOptions of_user(StoreOptions store) {
  store.cache_dir = store.matrix_dir();
  return store;
}

// Returns false for a record that cannot be read, so that it is replaced.
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

void check_leavings(const StoreOptions& options, const OutputGuard& guard) {
  const StoreOptions store = of_user(options);
  if (!has_own_cache(store)) return;
  const std::string list = rejected_rows_path(store.output);
  guard.check_beside(list, is_foreign_list(list));
  guard.check_beside(finished_run_path(store.output), is_foreign_finished_run(store.output));
  const std::string files = file_list_path(options, "");
  guard.check_beside(files, is_foreign_file_list(files));
}

std::string lasting_list(const StoreOptions& options, const std::string& list) {
  const StoreOptions store = of_user(options);
  if (list.empty()) return "";
  if (has_own_cache(store)) return rejected_rows_path(store.output);
  return join_path(store.cache_dir, std::filesystem::path(list).filename().string());
}

std::string file_list_path(const StoreOptions& options, const std::string& stream) {
  const StoreOptions store = of_user(options);
  return has_own_cache(store) ? hidden_beside(store.output, std::string(kFileListSuffix))
                              : RunFiles(store.cache_dir).file_list(stream);
}

void write_file_lists(const std::vector<StreamPlan>& streams) {
  for (const StreamPlan& stream : streams) {
    if (stream.scan.listed && !stream.sharded)
      write_file_list(stream.scan.listed->list, stream.scan.files);
  }
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

void remove_after_refusal(const RunConfig& config, const std::vector<std::string>& made) {
  const StoreOptions& store = config.store;
  if (!has_own_cache(store)) return;
  const std::string& stream = config.streams.front().name();
  const bool finished = read_finished_run(store.output) &&
                        !entry_exists(chunks_dir(store.cache_dir, stream), "store.stream");
  const bool made_for_nothing = !made.empty() && has_only_records(store.cache_dir);
  if (!finished && !made_for_nothing) return;
  remove_cache_directory(store.cache_dir, stream);
  remove_empty_directories(made);
}

}  // namespace encode
