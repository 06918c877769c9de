#include "supervisor/run.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/job.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/host.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "supervisor/plan/plan.h"
#include "supervisor/plan/resume.h"
#include "supervisor/report/progress.h"
#include "supervisor/report/run_log.h"
#include "supervisor/report/run_reporter.h"
#include "supervisor/report/status_file.h"
#include "supervisor/report/summary.h"
#include "supervisor/stop_signal.h"
#include "supervisor/worker/restart_policy.h"

namespace encode {
namespace {

class Run {
 public:
  Run(const RunConfig& config, const RunEnvironment& environment, Terminal& err, Terminal& out)
      : config_(config),
        environment_(environment),
        cache_dir_(config.store.cache_dir),
        lock_(CacheLock::acquire(cache_dir_)),
        log_(config.log, err, out),
        progress_(err, log_, config.log.progress && !config.log.json),
        status_(cache_dir_ + "/status.json"),
        attempts_(cache_dir_ + "/attempts.json"),
        policy_(config.hardware.max_restarts, environment.first_restart_delay_seconds, attempts_) {}

  RunEnd execute();

 private:
  void prepare();
  void encode_all();
  WorkerOutcome run_worker(const std::vector<size_t>& pending);
  JobSpec make_job(const std::vector<size_t>& pending) const;
  void on_event(const WorkerEvent& event, const std::vector<size_t>& pending);
  void finish_beside(size_t stream);
  void settle(const std::vector<size_t>& pending);
  void after(const WorkerOutcome& outcome, const std::vector<size_t>& pending);
  void wait(double seconds) const;
  void combine_all();
  void self_check() const;
  RunSummary summarize() const;

  const RunConfig& config_;
  const RunEnvironment& environment_;
  const std::string cache_dir_;
  const CacheLock lock_;
  RunLog log_;
  Progress progress_;
  StatusFile status_;
  AttemptLog attempts_;
  RestartPolicy policy_;
  std::optional<StopSignal> own_stop_;
  // Null until prepare() has made the plan. Until then a signal ends the process, unless the
  // environment has a StopSignal.
  const StopSignal* stop_ = nullptr;
  RunPlan plan_;
  std::optional<RunReporter> reporter_;
  std::unique_ptr<StreamFinisher> finisher_;
  std::vector<StreamState> states_;
  std::map<size_t, std::future<StreamState>> finishing_;
  // The rows of the chunks that the worker has started in its current unit, by chunk number.
  std::map<int64_t, RowRange> chunk_rows_;
  int64_t worker_peak_bytes_ = 0;
  const Stopwatch watch_;
};

RunEnd Run::execute() {
  try {
    prepare();
    encode_all();
    combine_all();
    self_check();
    RunEnd end = {.stopped_by = 0, .summary = summarize()};
    check_rows(end.summary);
    log_.result("summary", render(end.summary), to_json(end.summary));
    reporter_->state("done", nullptr);
    return end;
  } catch (const Stopped&) {
    progress_.clear();
    const int number = stop_->number();
    log_.warning("stopped",
                 fmt::format("stopped by signal {} ({}); every committed chunk is kept, and the "
                             "same command continues from there",
                             number, ::strsignal(number)),
                 {{"signal", number}});
    if (reporter_) reporter_->state("stopped", nullptr);
    return {.stopped_by = number, .summary = {}};
  } catch (const Error& error) {
    progress_.clear();
    log_.final_error(error.detail());
    if (reporter_) reporter_->state("failed", &error.detail());
    throw;
  }
}

void Run::prepare() {
  log_.open_file(config_.log.file.empty() ? cache_dir_ + "/encode.log" : config_.log.file);
  const HostMemory memory = host_memory();
  const std::string source = config_.config_path.empty() ? "flags only" : config_.config_path;
  log_.info("run_started",
            fmt::format("encode {}: {}, cache {}, device {}, {}", environment_.version, source,
                        cache_dir_, config_.hardware.device, describe(memory)),
            {{"version", environment_.version},
             {"config", config_.config_path},
             {"cache_dir", cache_dir_},
             {"device", config_.hardware.device},
             {"used_percent", memory.used_percent()},
             {"available_bytes", memory.available_bytes}});
  const StoreOptions& store = config_.store;
  std::string mode = "mode: standard, one pass without chunk files";
  if (store.use_chunked_encoding && store.save_chunks) {
    mode = fmt::format("mode: chunked, chunks are {} after the final is published",
                       store.keep_chunk_cache ? "kept" : "deleted");
  }
  log_.info("mode", mode, {{"chunked", store.use_chunked_encoding && store.save_chunks}});
  plan_ = make_plan(config_, PlanPurpose::kRun, log_);
  reporter_.emplace(log_, progress_, status_, plan_.streams.size());
  stop_ = environment_.stop != nullptr ? environment_.stop : &own_stop_.emplace();
  finisher_ = std::make_unique<StreamFinisher>(config_.store, log_, *stop_);
  for (const StreamPlan& stream : plan_.streams) states_.push_back(finisher_->resume(stream));
}

void Run::encode_all() {
  while (true) {
    std::vector<size_t> pending;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (!states_[i].finished) pending.push_back(i);
    }
    if (pending.empty()) return;
    const WorkerOutcome outcome = run_worker(pending);
    settle(pending);
    after(outcome, pending);
  }
}

JobSpec Run::make_job(const std::vector<size_t>& pending) const {
  JobSpec job{cache_dir_, config_.hardware, {}};
  for (const size_t i : pending) {
    const StreamPlan& stream = plan_.streams[i];
    job.units.push_back({.identity = stream.identity,
                         .input = stream.config.input,
                         .scan = stream.scan,
                         .speed = stream.config.speed,
                         .model_path = stream.model_path,
                         .effective = stream.effective,
                         .chunk_rows = states_[i].chunk_rows,
                         .chunk_files = finisher_->chunk_files(),
                         .alone_below = policy_.alone_below(stream.config.name()),
                         .final_path = finisher_->standard_path(stream)});
  }
  return job;
}

WorkerOutcome Run::run_worker(const std::vector<size_t>& pending) {
  const std::string job_path = cache_dir_ + "/job.json";
  write_file_durably(job_path, to_json(make_job(pending)));
  std::vector<UnitProgress> units;
  for (const size_t i : pending) {
    const StreamPlan& stream = plan_.streams[i];
    units.push_back({.stream = i,
                     .name = stream.config.name(),
                     .input_path = stream.config.input.path,
                     .rows = stream.identity.rows,
                     .rows_before = states_[i].rows_done,
                     .rows_done = states_[i].rows_done,
                     .chunks = states_[i].chunks,
                     .chunk_files = finisher_->chunk_files()});
  }
  reporter_->worker_started(std::move(units));
  WorkerSession session(
      environment_.worker, *stop_,
      {.on_event = [&](const WorkerEvent& event) { on_event(event, pending); },
       .on_output = [&](std::string_view line) { reporter_->output(line); },
       .on_garbage = [&](std::string_view line,
                         const std::string& why) { reporter_->garbage(line, why); },
       .on_tick = [&](Clock::time_point now) { reporter_->tick(now); }});
  WorkerOutcome outcome = session.run(job_path, lock_.fd());
  reporter_->worker_ended();
  worker_peak_bytes_ = std::max(worker_peak_bytes_, outcome.peak_resident_bytes);
  return outcome;
}

void Run::on_event(const WorkerEvent& event, const std::vector<size_t>& pending) {
  environment_.on_event(event);
  reporter_->event(event);
  const auto stream_of = [&](int64_t unit) -> std::optional<size_t> {
    if (unit < 0 || unit >= static_cast<int64_t>(pending.size())) return std::nullopt;
    return pending[static_cast<size_t>(unit)];
  };
  const auto progressed = [&](int64_t unit) {
    if (const auto stream = stream_of(unit))
      policy_.progressed(plan_.streams[*stream].config.name());
  };
  std::visit(
      Overloaded{[this](const UnitStarted&) { chunk_rows_.clear(); },
                 [this](const ChunkStarted& started) { chunk_rows_[started.chunk] = started.rows; },
                 [&](const ChunkDone& done) {
                   if (finisher_->chunk_files()) progressed(done.unit);
                 },
                 [&](const UnitDone& done) {
                   progressed(done.unit);
                   if (const auto stream = stream_of(done.unit)) finish_beside(*stream);
                 },
                 [](const auto&) {}},
      event);
}

// Assembles the final on another thread while the worker encodes the next stream.
void Run::finish_beside(size_t stream) {
  if (!finisher_->chunk_files() || finishing_.contains(stream)) return;
  finishing_[stream] = std::async(
      std::launch::async, [this, stream] { return finisher_->finish(plan_.streams[stream]); });
}

// Reads from the disk, not from the worker's events, how far each stream is.
void Run::settle(const std::vector<size_t>& pending) {
  for (auto& [stream, state] : std::exchange(finishing_, {})) states_[stream] = state.get();
  if (stop_->number() != 0) return;
  for (const size_t i : pending) {
    if (!states_[i].finished) states_[i] = finisher_->finish(plan_.streams[i]);
  }
}

void Run::after(const WorkerOutcome& outcome, const std::vector<size_t>& pending) {
  using End = WorkerOutcome::End;
  const bool complete = std::all_of(states_.begin(), states_.end(),
                                    [](const StreamState& state) { return state.finished; });
  if (complete) return;
  if (stop_->number() != 0) throw Stopped();
  if (outcome.end == End::kFatal) throw Error(outcome.error);

  RestartPolicy::Failure failure{
      .stream = "", .chunk = -1, .chunk_name = "", .cause = outcome.error};
  if (outcome.end == End::kFinished) {
    failure.cause.code = "worker.incomplete";
    failure.cause.what = "encode-worker reported that it had finished, but rows are missing";
    failure.cause.hint = "another program may be writing to " + cache_dir_;
  } else if (outcome.chunk >= 0 && outcome.unit >= 0 &&
             outcome.unit < static_cast<int64_t>(pending.size())) {
    failure.stream = plan_.streams[pending[static_cast<size_t>(outcome.unit)]].config.name();
    failure.chunk = outcome.chunk;
    failure.chunk_name =
        fmt::format("{} {}", failure.stream,
                    reporter_->chunk_name(outcome.unit, outcome.chunk, chunk_rows_[outcome.chunk]));
    if (failure.cause.where.empty()) failure.cause.where = failure.chunk_name;
  }
  const double delay = policy_.restart_delay(failure);
  reporter_->restarts = policy_.restarts();
  log_.warning(
      "worker_restart",
      fmt::format("{}; starting another worker in {} (restart {} of {})", failure.cause.what,
                  format_duration(delay), policy_.restarts(), config_.hardware.max_restarts),
      {{"code", failure.cause.code},
       {"found", failure.cause.found},
       {"restarts", policy_.restarts()}});
  reporter_->state("restarting", &failure.cause);
  wait(delay);
}

void Run::wait(double seconds) const {
  constexpr double kMilliseconds = 1000;
  pollfd stop = {.fd = stop_->fd(), .events = POLLIN, .revents = 0};
  ::poll(&stop, 1, static_cast<int>(seconds * kMilliseconds));
  if (stop_->number() != 0) throw Stopped();
}

void Run::combine_all() {
  for (const CombinePlan& combine : plan_.combine) {
    if (stop_->number() != 0) throw Stopped();
    std::vector<std::string> parts;
    for (const size_t i : combine.streams) parts.push_back(plan_.streams[i].final_path);
    const StreamIdentity identity = combined_identity(parts, combine.name);
    const bool there =
        final_state(combine.path, identity, /*check_hash=*/true) == FinalState::kValid;
    if (!there) combine_finals(parts, combine.path, combine.name);
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

void Run::self_check() const {
  for (const StreamPlan& stream : plan_.streams) {
    if (finisher_->has_final(stream)) continue;
    throw Error({.exit_code = ExitCode::kInternal,
                 .code = "run.self_check",
                 .what = "a final matrix was removed or replaced during the run",
                 .where = stream.final_path,
                 .expected = "the matrix and its manifest",
                 .found = "another file, or none",
                 .hint = "another program may be writing to this path; run the same command "
                         "again"});
  }
}

RunSummary Run::summarize() const {
  RunSummary summary;
  for (size_t i = 0; i < plan_.streams.size(); ++i) {
    const StreamPlan& stream = plan_.streams[i];
    const std::optional<Manifest> manifest = read_manifest(stream.final_path);
    const RowStats stats = manifest ? manifest->stats : RowStats{};
    const StreamRate& rate = reporter_->rate(i);
    summary.matrices.push_back(
        {.name = stream.config.name(),
         .path = stream.final_path,
         .rows_in = stream.scan.rows_in,
         .rejected = stream.scan.rejected,
         .rows = manifest ? manifest->identity.rows : 0,
         .dim = stream.identity.dim,
         .tokens = stats.tokens,
         .truncated_rows = stats.truncated_rows,
         .tokens_per_second =
             rate.seconds > 0 ? static_cast<double>(rate.tokens) / rate.seconds : 0,
         .combined = false});
  }
  for (const CombinePlan& combine : plan_.combine) {
    const std::optional<Manifest> manifest = read_manifest(combine.path);
    FinishedMatrix& matrix = summary.matrices.emplace_back();
    matrix.name = combine.name;
    matrix.path = combine.path;
    matrix.rows = manifest ? manifest->identity.rows : 0;
    matrix.rows_in = matrix.rows;
    matrix.dim = manifest ? manifest->identity.dim : 0;
    matrix.combined = true;
  }
  summary.mode = finisher_->chunk_files() ? "chunked" : "standard";
  summary.seconds = watch_.seconds();
  summary.peak_host_bytes =
      std::max(worker_peak_bytes_, reporter_->worker_peak_bytes()) + peak_resident_bytes();
  summary.host_memory = describe(host_memory());
  return summary;
}

}  // namespace

RunEnd run_experiment(const RunConfig& config, const RunEnvironment& environment, Terminal& err,
                      Terminal& out) {
  return Run(config, environment, err, out).execute();
}

}  // namespace encode
