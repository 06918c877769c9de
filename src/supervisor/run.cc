#include "supervisor/run.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/host.h"
#include "base/own_cache.h"
#include "base/stopwatch.h"
#include "run_plan/cache_files.h"
#include "run_plan/directory_probe.h"
#include "run_plan/fit_check.h"
#include "run_plan/input_scans.h"
#include "run_plan/leavings.h"
#include "run_plan/plan.h"
#include "run_plan/plan_steps.h"
#include "run_plan/quarantine.h"
#include "run_plan/resume.h"
#include "run_plan/run_devices.h"
#include "run_record/progress.h"
#include "run_record/run_log.h"
#include "run_record/status_file.h"
#include "run_record/summary.h"
#include "store/run_files.h"
#include "supervisor/crew.h"
#include "supervisor/finished_matrices.h"
#include "supervisor/leave_output.h"
#include "supervisor/run_lock.h"
#include "supervisor/run_reporter.h"
#include "supervisor/run_signals.h"
#include "supervisor/shard_hint.h"
#include "supervisor/worker/worker_recovery.h"

namespace encode {
namespace {

// Returns the directory of the output if it does not exist yet; "" otherwise.
std::string absent_output_directory(const StoreOptions& store) {
  if (store.output.empty()) return "";
  const std::string directory = parent_directory(store.output);
  return absent_directories(directory).empty() ? "" : directory;
}

class Run {
 public:
  Run(const RunConfig& config, const RunEnvironment& environment, Terminal& err, Terminal& out)
      : config_(config),
        environment_(environment),
        cache_dir_(config.store.cache_dir),
        made_directories_(absent_directories(cache_dir_)),
        new_output_directory_(absent_output_directory(config.store)),
        lock_(lock_cache(config, environment.shard != nullptr || environment.attempt != nullptr)),
        lock_of_run_(environment.attempt != nullptr
                         ? environment.attempt->lock
                         : LockOfRun{.dir = cache_dir_, .token = lock_.token()}),
        log_(config.log, err, out),
        progress_(err, log_, shows_progress(config.log)),
        recovery_(config, log_, environment.first_restart_delay_seconds) {}

  RunEnd execute();

 private:
  void prepare();
  void announce_reading();
  void record_end(RunPhase phase, const ErrorDetail* error);
  void take_back();
  void encode_all();
  void publish_splits();
  void combine_all();
  void require_all_finals() const;
  void self_check() const;
  void leave_nothing_after_refusal() noexcept;
  std::string same_command() const;
  void add_command(ErrorDetail& detail) const;
  RunSummary summarize() const;

  const RunConfig& config_;
  const RunEnvironment& environment_;
  const std::string cache_dir_;
  const std::vector<std::string> made_directories_;  // created for the lock; innermost first
  const std::string new_output_directory_;           // created for the output; "": it was there
  const CacheLock lock_;
  const LockOfRun lock_of_run_;
  RunLog log_;
  Progress progress_;
  Recovery recovery_;
  std::optional<RunSignals> signals_;
  RunPlan plan_;
  bool prepared_ = false;  // all checks that may refuse the run have passed
  bool changes_ = false;   // results of an earlier run may have been deleted
  std::optional<RunReporter> reporter_;
  std::unique_ptr<StreamFinisher> finisher_;
  std::vector<StreamState> states_;
  bool encoded_nothing_ = false;  // every final matrix existed when the run began
  bool combined_ = false;         // the run has made a combined matrix
  int64_t worker_peak_bytes_ = 0;
  const Stopwatch watch_;
};

RunEnd Run::execute() {
  try {
    prepare();
    progress_.clear();  // needed if nothing is left to encode
    prepared_ = true;
    encode_all();
    publish_splits();
    combine_all();
    require_all_finals();
    self_check();
    RunEnd end = {.stopped_by = 0, .summary = summarize()};
    check_rows(end.summary);
    if (!end.summary.already_complete) warn_of_truncation(end.summary, config_, log_);
    reporter_->phase(RunPhase::kDone, nullptr);
    if (environment_.attempt != nullptr) {
      environment_.attempt->finished(std::move(plan_), encoded_nothing_);
    } else {
      leave_output(config_.store, plan_.streams.front(), encoded_nothing_, log_);
    }
    log_.result("summary", render(end.summary), to_json(end.summary));
    return end;
  } catch (const Stopped&) {
    signals_->finish();
    progress_.clear();
    const int number = signals_->stop().number();
    const std::string command = same_command();
    log_.warning("stopped",
                 fmt::format("stopped by signal {} ({}): {}{}", number, ::strsignal(number),
                             finisher_->what_is_kept(plan_.streams, reporter_->unsaved_rows()),
                             command.empty() ? "" : ": " + command),
                 {{"signal", number}});
    record_end(RunPhase::kStopped, nullptr);
    return {.stopped_by = number};
  } catch (const Error& error) {
    progress_.clear();
    ErrorDetail detail = error.detail();
    if (environment_.shard != nullptr) give_hint_for_shard(detail);
    environment_.amend_error(detail);
    add_command(detail);
    log_.final_error(detail);
    record_end(RunPhase::kFailed, &detail);
    leave_nothing_after_refusal();
    throw Error(std::move(detail));
  }
}

// Returns the command that continues this run; "" if it is not known.
std::string Run::same_command() const {
  std::string copy;
  for (const StreamPlan& stream : plan_.streams)
    copy += standard_input_copy(cache_dir_, stream.config.name());
  return resume_command(environment_.command, copy);
}

// Adds the command to the error if repeating the run without changes makes sense.
void Run::add_command(ErrorDetail& detail) const {
  const bool may_go_on =
      detail.exit_code == ExitCode::kTempFail || detail.exit_code == ExitCode::kIoError;
  const std::string command = same_command();
  if (prepared_ && may_go_on && !command.empty()) detail.hint += "\nto go on: " + command;
}

void Run::record_end(RunPhase phase, const ErrorDetail* error) {
  if (prepared_ || changes_) return reporter_->phase(phase, error);
  try {
    if (!config_.store.overwrite) check_cache_files(cache_dir_);
  } catch (const Error&) {
    return;  // the file of this name may be foreign
  }
  StatusFile(RunFiles(cache_dir_).status()).keep_earlier(error, environment_.command);
}

void Run::prepare() {
  check_log(config_);
  log_.open_file(log_path(config_));
  if (!config_.store.overwrite) check_cache_files(cache_dir_);
  sweep_cache_files(cache_dir_);
  const HostMemory memory = host_memory();
  const std::string source = config_.config_path.empty() ? "no config file" : config_.config_path;
  log_.info("run_started",
            fmt::format("encode {}: {}, cache {}, device {}, {}", environment_.version, source,
                        cache_dir_, describe_devices(config_.hardware), describe(memory)),
            {{"version", environment_.version},
             {"config", config_.config_path},
             {"cache_dir", cache_dir_},
             {"device", describe_devices(config_.hardware)},
             {"used_percent", memory.used_percent()},
             {"available_bytes", memory.available_bytes}});
  if (!lock_.excludes() && environment_.attempt == nullptr) warn_of_no_locks(cache_dir_, log_);
  const StoreOptions& store = config_.store;
  std::string mode = "mode: standard, one pass without chunk files";
  if (store.chunked()) {
    mode = fmt::format("mode: chunked, chunks are {} when the output is complete",
                       store.keep_chunk_cache ? "kept" : "deleted");
  }
  log_.detail("mode", mode, {{"chunked", store.chunked()}});
  note_padding(config_.padding, log_);
  for (const std::string& sentence : config_.retired_keys) log_.warning("retired_key", sentence);
  signals_.emplace(environment_.stop, log_, progress_);
  announce_reading();
  plan_ = make_plan(config_, PlanPurpose::kRun, log_, environment_.shard);
  signals_->inputs_are_read();
  if (!new_output_directory_.empty()) {
    log_.warning("directory_created",
                 fmt::format("created the folder {} for the output", new_output_directory_),
                 {{"path", new_output_directory_}});
  }
  check_quarantine(store, plan_);
  recovery_.run_started();
  reporter_.emplace(log_, progress_, config_, plan_.streams.size());
  reporter_->command = environment_.command;
  finisher_ = std::make_unique<StreamFinisher>(config_.store, lock_of_run_, log_, signals_->stop());
  finisher_->look_at_finals(plan_);
  changes_ = environment_.retry_set_aside || store.fresh;
  if (environment_.retry_set_aside) take_back();
  for (const StreamPlan& stream : plan_.streams) {
    states_.push_back(finisher_->resume(stream));
    if (!states_.back().unchanged) warn_of_rows(stream, log_);
  }
  // After resume(), so that a run that is refused does not replace the list of another one.
  write_file_lists(plan_.streams);
  encoded_nothing_ = std::all_of(states_.begin(), states_.end(),
                                 [](const StreamState& state) { return state.finished; });
  // Otherwise a run would notice only after hours of encoding that it cannot write its result.
  plan_.probed.insert(cache_dir_);  // the job is written there next
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].finished)
      probe_once(parent_directory(plan_.streams[i].final_path), plan_.probed);
  }
}

// Says that the run waits for standard input: a run that was started without a pipe would otherwise
// wait in silence. For a keyboard this is a line of its own, because typed text would follow a
// status line.
void Run::announce_reading() {
  const bool from_keyboard =
      ::isatty(STDIN_FILENO) == 1 &&
      std::any_of(config_.streams.begin(), config_.streams.end(),
                  [](const StreamConfig& stream) { return stream.input.is_standard_input(); });
  if (!from_keyboard) return progress_.step("reading the texts and the model");
  log_.warning("keyboard_input", "reading texts from the keyboard; end with Ctrl-D");
}

void Run::take_back() {
  int64_t rows = 0;
  for (const StreamPlan& stream : plan_.streams) {
    recovery_.take_back(stream.config.name());
    rows += finisher_->take_back(stream);
  }
  if (rows == 0)
    log_.info("nothing_set_aside", "no row has failed, so there is nothing to encode again");
}

void Run::encode_all() {
  Crew crew({.config = config_,
             .environment = environment_,
             .plan = plan_,
             .finisher = *finisher_,
             .lock = lock_,
             .lock_of_run = lock_of_run_,
             .stop = signals_->stop(),
             .log = log_,
             .recovery = recovery_,
             .reporter = *reporter_},
            states_);
  try {
    crew.encode_all();
  } catch (const Error& error) {
    throw naming_standard_input(error, plan_.streams);
  }
  worker_peak_bytes_ = crew.peak_resident_bytes();
}

// Publishes the final matrices from which rows are dropped. They wait until all streams of their
// split are encoded.
void Run::publish_splits() {
  if (config_.store.quarantine != QuarantinePolicy::kDrop) return;
  for (const std::vector<size_t>& split : streams_of_splits(plan_)) {
    std::vector<const StreamPlan*> streams;
    std::vector<StreamState*> states;
    for (const size_t i : split) {
      streams.push_back(&plan_.streams[i]);
      states.push_back(&states_[i]);
    }
    finisher_->publish_split(streams, states);
  }
}

void Run::combine_all() {
  for (const CombinePlan& combine : plan_.combine) {
    if (signals_->stop().number() != 0) throw Stopped();
    const bool complete = std::all_of(combine.streams.begin(), combine.streams.end(),
                                      [this](size_t i) { return states_[i].finished; });
    if (!complete) continue;
    std::vector<std::string> parts;
    for (const size_t i : combine.streams) parts.push_back(plan_.streams[i].final_path);
    const StreamIdentity identity = combined_identity(parts, combine.name);
    const bool there = !finisher_->combine(combine, parts, identity);
    combined_ = combined_ || !there;
    log_.info("combined",
              fmt::format("{}: {}, ({}, {}), combined dimension {}", combine.name,
                          there ? "already done" : "saved to " + combine.path, identity.rows,
                          identity.dim, identity.dim),
              {{"name", combine.name},
               {"path", combine.path},
               {"rows", identity.rows},
               {"dim", identity.dim}});
  }
}

// Throws the error of the first stream that has no final matrix. Called last, so that the other
// streams are finished first.
void Run::require_all_finals() const {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].finished) continue;
    const std::string& name = plan_.streams[i].config.name();
    throw rows_set_aside_error(name, states_[i].set_aside, chunks_dir(cache_dir_, name));
  }
}

void Run::self_check() const {
  for (const StreamPlan& stream : plan_.streams) {
    if (finisher_->has_final(stream)) continue;
    throw Error({.code = "run.self_check",
                 .what = "a final matrix was removed or replaced during the run",
                 .where = stream.final_path,
                 .expected = "the matrix and its manifest",
                 .found = "another file, or none",
                 .hint = "another program may be writing to this path; run the same command "
                         "again"});
  }
}

void Run::leave_nothing_after_refusal() noexcept {
  if (!states_.empty()) return;
  try {
    remove_after_refusal(config_, made_directories_);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the error of the run counts
  }
}

RunSummary Run::summarize() const {
  const bool unchanged = std::all_of(states_.begin(), states_.end(),
                                     [](const StreamState& state) { return state.unchanged; });
  return {.matrices = finished_matrices(config_.store, plan_, *reporter_),
          .chunked = finisher_->chunk_files(),
          .seconds = watch_.seconds(),
          .peak_host_bytes =
              std::max(worker_peak_bytes_, reporter_->worker_peak_bytes()) + peak_resident_bytes(),
          .host_memory = describe(host_memory()),
          .pressure = reporter_->pressure(),
          .already_complete = unchanged && !combined_,
          .retried = environment_.retry_set_aside};
}

}  // namespace

RunEnd run_experiment(const RunConfig& config, const RunEnvironment& environment, Terminal& err,
                      Terminal& out) {
  // Covers the time in which the run waits for the lock and has no StopSignal yet.
  if (environment.stop == nullptr) end_at_once_if_asked_for_restart();
  return Run(config, environment, err, out).execute();
}

}  // namespace encode
