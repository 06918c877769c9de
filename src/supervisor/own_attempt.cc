#include "supervisor/own_attempt.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/file_system.h"
#include "base/path_kind.h"
#include "base/stop_signal.h"
#include "base/units.h"
#include "run_plan/cache_files.h"
#include "run_plan/leavings.h"
#include "run_record/run_paths.h"
#include "run_record/run_state.h"
#include "store/attempt_folders.h"
#include "store/layout.h"
#include "store/no_locks.h"
#include "store/run_files.h"
#include "supervisor/attempt_leavings.h"
#include "supervisor/leave_output.h"

namespace encode {
namespace {

class OwnAttempt {
 public:
  OwnAttempt(const RunConfig& config, RunLog& log)
      : config_(config),
        cache_dir_(config.store.cache_dir),
        made_(absent_directories(cache_dir_)),
        lock_(CacheLock::acquire(cache_dir_, CacheLock::Need::kIfPossible)),
        log_(log) {
    if (!config.store.overwrite) check_cache_files(cache_dir_);
    own_ = config_;
    own_.store.shared_dir = cache_dir_;
    own_.log.file = log_path(config_);
  }

  void begin(const std::string& why);
  RunEnd run(RunEnvironment environment, Terminal& err, Terminal& out);

 private:
  bool take_over(const std::string& folder) const;
  void leave();
  void leave_after_failure() noexcept;
  bool was_deleted() const;
  void amend(ErrorDetail& detail) const;

  const RunConfig& config_;
  const std::string cache_dir_;          // of the user
  const std::vector<std::string> made_;  // created for the lock; innermost first
  const CacheLock lock_;                 // saves work; no result depends on it
  RunLog& log_;
  RunConfig own_;                // the config of the attempt
  std::optional<RunPlan> plan_;  // when every matrix is published
  bool encoded_nothing_ = false;
};

// Continues an attempt that has certainly ended, instead of linking or copying all of its chunks.
// Only one of several runs can give it a new name. A copy of standard input keeps its path.
bool OwnAttempt::take_over(const std::string& folder) const {
  const std::string earlier = current_run_dir(cache_dir_);
  if (config_.store.fresh || earlier == cache_dir_ || !has_ended(earlier)) return false;
  for (const std::string& name : list_directory(earlier)) {
    const RunFileKind* kind = run_file_kind(name);
    if (kind != nullptr && kind->form == RunFileKind::Form::kStandardInput) return false;
  }
  if (std::rename(earlier.c_str(), folder.c_str()) != 0) return false;
  StoreOptions of_earlier = own_.store;
  of_earlier.cache_dir = earlier;
  if (!of_earlier.output.empty()) remove_unpublished(of_earlier, of_earlier.output);
  return true;
}

void OwnAttempt::begin(const std::string& why) {
  const std::string attempts = attempts_dir(cache_dir_);
  const std::string folder = join_path(attempts, new_attempt_name());
  own_.store.cache_dir = folder;
  const bool goes_on = take_over(folder);
  if (!goes_on) {
    create_directories_durably(folder);
    copy_records(current_run_dir(cache_dir_), folder);
  }
  log_.info("own_attempt",
            fmt::format("{}, so this run works in a directory of its own{}: {}", why,
                        goes_on ? ", with what an earlier run has left" : "", preview(folder, 300)),
            {{"path", folder}, {"goes_on", goes_on}});
}

RunEnd OwnAttempt::run(RunEnvironment environment, Terminal& err, Terminal& out) {
  const AttemptOfRun attempt = {.lock = {.dir = cache_dir_, .token = lock_.token()},
                                .finished = [this](RunPlan&& plan, bool nothing) {
                                  plan_ = std::move(plan);
                                  encoded_nothing_ = nothing;
                                }};
  environment.attempt = &attempt;
  environment.amend_error = [this](ErrorDetail& detail) { amend(detail); };
  try {
    const RunEnd end = run_experiment(own_, environment, err, out);
    // Only now the run has closed its files. NFS and FUSE keep an open file that is deleted.
    if (plan_) leave();
    return end;
  } catch (const Error&) {
    leave_after_failure();
    throw;
  }
}

// Another run that has published all matrices of this attempt deletes its directory. This run may
// then make the directory again, but never the file LOCK.
bool OwnAttempt::was_deleted() const {
  std::error_code unknown;
  return !std::filesystem::exists(RunFiles(own_.store.cache_dir).lock(), unknown) && !unknown;
}

void OwnAttempt::amend(ErrorDetail& detail) const {
  if (!was_deleted()) return;
  detail = {.code = "store.taken",
            .exit_code = ExitCode::kTempFail,
            .what = "another run has published the output and deleted the attempt of this run",
            .where = own_.store.cache_dir,
            .expected = "the directory of this run",
            .found = fmt::format("no directory ({})", detail.what),
            .hint = "run the same command again: it keeps the output of the other run"};
}

void OwnAttempt::leave() {
  try {
    move_records(own_.store.cache_dir, cache_dir_);
    if (!encoded_nothing_) leave_chunks(own_.store, *plan_);
    remove_superseded_attempts(own_.store, *plan_);
  } catch (const Error& error) {
    log_.warning("cache_left",
                 fmt::format("{} could not be removed: {} ({})", own_.store.cache_dir,
                             error.detail().what, error.detail().where),
                 {{"path", own_.store.cache_dir}});
  }
  StreamPlan& stream = plan_->streams.front();
  if (!stream.rejected_path.empty())
    stream.rejected_path = RunFiles(cache_dir_).rejected_rows(stream.config.name());
  leave_output(config_.store, stream, encoded_nothing_, log_);
}

// An attempt without chunks is of no use to the next run.
void OwnAttempt::leave_after_failure() noexcept {
  try {
    if (was_deleted()) return remove_attempt_of(own_.store, own_.streams);
    if (has_chunk_folders(own_.store.cache_dir)) return;
    move_records(own_.store.cache_dir, cache_dir_);
    const std::string& stream = own_.streams.front().name();
    if (!own_.store.output.empty()) remove_unpublished(own_.store, own_.store.output);
    remove_attempt_without_chunks(own_.store, stream);
    remove_after_refusal(config_, made_);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the error of the run counts
  }
}

}  // namespace

std::string place_without_safe_locks(const StoreOptions& store) {
  std::vector<std::string> places = {store.cache_dir};
  if (!store.output.empty()) places.push_back(parent_directory(store.output));
  for (const std::string& path : places) {
    const std::optional<SharedFileSystem> shared = shared_file_system(path);
    if (shared) return fmt::format("{} is on {}", preview(path, 300), shared->name);
  }
  return "";
}

RunEnd run_where_safe(const RunConfig& config, const RunEnvironment& environment, Terminal& err,
                      Terminal& out) {
  std::string why = place_without_safe_locks(config.store);
  if (why.empty()) {
    try {
      return run_experiment(config, environment, err, out);
    } catch (const Error& error) {
      if (error.detail().expected != kFileSystemWithLocks) throw;
      why = fmt::format("the file system of {} has no locks", preview(config.store.cache_dir, 300));
    }
  }
  end_at_once_if_asked_for_restart();
  RunLog log(config.log, err, out);
  std::optional<OwnAttempt> attempt;
  logging_errors(log, [&] {
    attempt.emplace(config, log);
    attempt->begin(why);
  });
  return attempt->run(environment, err, out);
}

}  // namespace encode
