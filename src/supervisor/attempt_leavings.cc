#include "supervisor/attempt_leavings.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "run_plan/cache_files.h"
#include "run_record/run_paths.h"
#include "run_record/run_state.h"
#include "store/attempt_final.h"
#include "store/attempt_folders.h"
#include "store/audit.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {
namespace {

using Form = RunFileKind::Form;

// Returns true if the folder of chunks belongs to this stream. A damaged one counts as another's.
bool has_chunks_of(const std::string& folder, const StreamIdentity& identity) {
  try {
    return logged_rows(folder, identity).has_value();
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kData && error.exit_code() != ExitCode::kConfig) throw;
    return false;
  }
}

// Returns true if the user wants the chunks of the stream, or another try at its rows needs them.
bool keeps_chunks(const StoreOptions& store, const StreamPlan& stream) {
  if (store.keep_chunk_cache) return true;
  const std::optional<Manifest> manifest = read_manifest(stream.final_path);
  return !manifest || manifest->set_aside.has_value();
}

void remove_attempt(const StoreOptions& store, const RunPlan& plan, bool is_own) {
  for (const StreamPlan& stream : plan.streams) {
    // The run has deleted its own chunks, but not an open file among them.
    const bool remove =
        is_own ? !keeps_chunks(store, stream) : has_chunks_of(store.cache_dir, stream.identity);
    if (remove) remove_chunks(store.cache_dir, stream.config.name());
    remove_unpublished(store, stream.final_path);
  }
  for (const CombinePlan& combined : plan.combine) remove_unpublished(store, combined.path);
  if (!has_chunk_folders(store.cache_dir))
    remove_attempt_without_chunks(store, plan.streams.front().config.name());
}

// Returns true if the attempt is of no use now that the matrices of the plan are published.
bool is_superseded(const std::string& attempt, const RunPlan& plan) {
  if (read_lock_state(attempt).held == LockState::Held::kYes) return false;
  const bool same = std::ranges::any_of(plan.streams, [&](const StreamPlan& stream) {
    return has_chunks_of(attempt, stream.identity);
  });
  return same || has_ended(attempt);
}

}  // namespace

bool has_ended(const std::string& attempt) {
  RunStatus status;
  status.cache_dir = attempt;
  read_run_state(status);
  const bool told = status.state == "failed" || status.state == "stopped" || status.state == "done";
  return status.lock.owner_ended || (told && status.lock.held == LockState::Held::kNo);
}

bool has_chunk_folders(const std::string& attempt) {
  if (!is_directory(attempt, "io.list")) return false;
  return std::ranges::any_of(list_directory(attempt),
                             [](const std::string& name) { return name.ends_with(kChunksSuffix); });
}

void copy_records(const std::string& from, const std::string& attempt) {
  constexpr int64_t kMostBytes = int64_t{16} << 20;
  for (const auto& path_in :
       {&RunFiles::attempts, &RunFiles::model_hashes, &RunFiles::faults, &RunFiles::memory}) {
    try {
      const std::string content = read_file((RunFiles(from).*path_in)(), kMostBytes, "io.read");
      write_file_without_sync((RunFiles(attempt).*path_in)(), content);
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the run is complete without it
    }
  }
}

void move_records(const std::string& attempt, const std::string& cache_dir) {
  for (const std::string& name : list_directory(attempt)) {
    const RunFileKind* kind = run_file_kind(name);
    if (kind == nullptr || kind->form == Form::kLock || kind->form == Form::kLog ||
        kind->form == Form::kStandardInput)
      continue;
    const std::string to = join_path(cache_dir, name);
    if (std::rename(join_path(attempt, name).c_str(), to.c_str()) != 0)
      throw system_error("io.commit", "rename", to, errno);
  }
}

void leave_chunks(const StoreOptions& store, const RunPlan& plan) {
  for (const StreamPlan& stream : plan.streams) {
    const std::string& name = stream.config.name();
    const std::string own = chunks_dir(store.cache_dir, name);
    if (has_chunks_of(store.shared_dir, stream.identity)) remove_chunks(store.shared_dir, name);
    if (!entry_exists(join_path(own, kStreamFile), "store.stream")) continue;
    const std::string to = chunks_dir(store.shared_dir, name);
    // Fails if a folder with files is there. The chunks then stay in the attempt.
    if (std::rename(own.c_str(), to.c_str()) == 0) sync_directory(store.shared_dir);
  }
}

void remove_superseded_attempts(const StoreOptions& store, const RunPlan& plan) {
  StoreOptions other = store;
  for (const std::string& attempt : attempts_in(attempts_dir(store.shared_dir))) {
    if (attempt == store.cache_dir || !is_superseded(attempt, plan)) continue;
    other.cache_dir = attempt;
    for (const StreamPlan& stream : plan.streams) remove_unpublished(other, stream.final_path);
    // Its run, if it is alive, must not write new files while the old ones are deleted.
    other.cache_dir = join_path(attempts_dir(store.shared_dir), new_attempt_name());
    if (std::rename(attempt.c_str(), other.cache_dir.c_str()) != 0) continue;
    remove_attempt(other, plan, /*is_own=*/false);
  }
  remove_attempt(store, plan, /*is_own=*/true);
}

void remove_unpublished(const StoreOptions& store, const std::string& final_path) {
  const std::string path = work_path_of(store, final_path);
  const std::string folder = parent_directory(path);
  if (!is_directory(folder, "io.list")) return;
  for (const std::string& file : final_files(path)) remove_temp_files(file);
  remove_attempt_final(path);
  if (folder == store.cache_dir) return;
  remove_empty_directories({folder, parent_directory(folder)});
}

void remove_attempt_of(const StoreOptions& store, const std::vector<StreamConfig>& streams) {
  if (!is_directory(store.cache_dir, "io.list")) return;
  for (const StreamConfig& stream : streams) remove_chunks(store.cache_dir, stream.name());
  if (!has_chunk_folders(store.cache_dir))
    remove_attempt_without_chunks(store, streams.front().name());
}

void remove_attempt_without_chunks(const StoreOptions& store, const std::string& stream) {
  remove_cache_directory(store.cache_dir, stream);
  remove_empty_directories({attempts_dir(store.shared_dir)});
}

}  // namespace encode
