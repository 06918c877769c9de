#include "supervisor/worker/worker_recovery.h"

#include <fmt/format.h>
#include <utility>

#include "base/allocator_conf.h"
#include "base/names.h"
#include "base/nvidia_driver.h"
#include "base/units.h"
#include "run_plan/run_devices.h"
#include "store/run_files.h"

namespace encode {
namespace {

constexpr ErrorCode kDied = "worker.died";
constexpr ErrorCode kCacheStalled = "cache.stalled";

FaultType type_of(const ErrorDetail& error) {
  if (error.code == "device.memory" || error.code == kNvmlFailure) return FaultType::kOutOfMemory;
  if (error.code == "device.cuda") return FaultType::kDeviceFailure;
  if (error.code == kDied) return FaultType::kCrash;
  if (error.code == "worker.hung") return FaultType::kHang;
  if (error.code == "worker.garbage" || error.code == "job.protocol") return FaultType::kProtocol;
  if (error.code == kOomKill || error.code == "host.memory") return FaultType::kHostMemory;
  if (error.code.in_group("vector")) return FaultType::kNonFinite;
  if (error.code.in_group("cache")) return FaultType::kEmbeddingCache;
  return FaultType::kError;
}

std::string rows_text(RowRange rows) {
  return rows.size() == 1 ? fmt::format("row {}", rows.begin)
                          : fmt::format("rows {} to {}", rows.begin, rows.end - 1);
}

}  // namespace

Recovery::Recovery(const RunConfig& config, RunLog& log, double first_delay_seconds)
    : config_(config),
      log_(log),
      memory_(RunFiles(config.store.cache_dir).attempts()),
      policy_(config.hardware.max_restarts, first_delay_seconds, memory_),
      faults_(RunFiles(config.store.cache_dir).faults(),
              [&log](const std::string& problem) { log.warning("fault_log", problem); }) {
  if (config.store.fresh) memory_.forget_all();
}

void Recovery::run_started() {
  faults_.add({.type = FaultType::kRunStarted,
               .config_path = config_.config_path,
               .device = describe_devices(config_.hardware)});
}

void Recovery::worker_started(const WorkerName& name, const std::vector<const StreamPlan*>& streams,
                              JobSpec& job) {
  Worker& worker = workers_[name.number];
  worker = {.label = name.label, .device = std::move(worker.device), .streams = streams};
  policy_.set_devices(job.workers);
  for (size_t i = 0; i < streams.size(); ++i) {
    JobUnit& unit = job.units[i];
    memory_.bind(streams[i]->config.name(), streams[i]->identity.fingerprint);
    policy_.prepare(streams[i]->config.name(), unit, name.number);
    if (job.workers == 1) unit.avoid.clear();
    unit.window_share = window_share_.value();
    if (unit.probe.size() > 0) job.hardware.synchronous_launches = true;
  }
  if (!expandable_segments_) job.hardware = without_expandable_segments(job.hardware);
  if (!embedding_cache_) job.embedding_cache = {};
}

void Recovery::Worker::works_on(const WindowStarted& window) {
  unit = window.unit;
  rows = window.rows;
  ahead = window.ahead;
  probing = false;
}

void Recovery::Worker::works_on(const ProbeStarted& part) {
  unit = part.unit;
  rows = part.rows;
  ahead = {};
  probing = true;
}

// Returns the range from the first row of the window to the last row that was launched ahead.
RowRange Recovery::Worker::all_rows() const {
  return ahead.size() == 0 ? rows : RowRange{.begin = rows.begin, .end = ahead.end};
}

std::string Recovery::Worker::rows_text() const {
  if (ahead.size() == 0 || ahead.begin == rows.end) return encode::rows_text(all_rows());
  return fmt::format("{} and {}", encode::rows_text(rows), encode::rows_text(ahead));
}

const StreamPlan* Recovery::Worker::stream(int64_t number) const {
  const bool known = number >= 0 && number < std::ssize(streams);
  return known ? streams[static_cast<size_t>(number)] : nullptr;
}

void Recovery::event(size_t number, const WorkerEvent& event) {
  Worker& worker = workers_[number];
  const auto named = [&worker](int64_t unit, const auto& action) {
    if (const StreamPlan* stream = worker.stream(unit)) action(stream->config.name());
  };
  std::visit(Overloaded{[&](const ModelLoaded& loaded) { worker.device = loaded.device.name; },
                        [&](const WindowStarted& started) {
                          worker.works_on(started);
                          named(started.unit, [&](const std::string& name) {
                            policy_.window_started(name, number);
                          });
                        },
                        [&](const ProbeStarted& started) { worker.works_on(started); },
                        [&](const ProbeDone& /*done*/) { policy_.rows_encoded(number); },
                        [&](const BatchHalved& halved) { batch_halved(worker, halved); },
                        [&](const CacheProblem& problem) { on_cache_problem(worker, problem); },
                        [&](const RowsSetAside& aside) {
                          const StreamPlan* stream = worker.stream(aside.unit);
                          if (stream == nullptr) return;
                          policy_.rows_set_aside(stream->config.name(), aside.rows);
                          on_rows_set_aside(worker, *stream, aside.rows);
                        },
                        [&](const ChunkDone& done) {
                          // A chunk whose rows are all set aside does not show that the device
                          // works.
                          if (done.stats.set_aside_rows < done.rows.size())
                            policy_.rows_encoded(number);
                          named(done.unit, [&](const std::string& name) {
                            policy_.committed(name, done.rows, number);
                          });
                        },
                        [&](const UnitDone& /*done*/) { worker.is_idle(); }, [](const auto&) {}},
             event);
}

void Recovery::batch_halved(const Worker& worker, const BatchHalved& halved) {
  const StreamPlan* stream = worker.stream(halved.unit);
  if (stream == nullptr) return;
  const std::string& name = stream->config.name();
  memory_.of(name).budgets[worker.device] = halved.budget_tokens;
  memory_.save();
  FaultRecord fault = record(worker, FaultType::kOutOfMemory, ErrorDetail());
  fault.action = FaultAction::kBatchHalved;
  fault.message =
      fmt::format("batches of at most {} tokens from here on", format_count(halved.budget_tokens));
  faults_.add(fault);
  log_.warning(
      "batch_halved",
      fmt::format("{}{}: the device is out of memory; {}", worker.prefix(), name, fault.message),
      {{"stream", name}, {"budget_tokens", halved.budget_tokens}});
}

void Recovery::on_cache_problem(const Worker& worker, const CacheProblem& problem) {
  FaultRecord fault = record(worker, FaultType::kEmbeddingCache, problem.error);
  fault.action = problem.off ? FaultAction::kWithoutCache : FaultAction::kNone;
  fault.rows = {};
  faults_.add(fault);
  if (problem.off) embedding_cache_ = false;
  log_.warning("embedding_cache_problem",
               fmt::format("{}{}{}", worker.prefix(),
                           problem.off ? "the run goes on without the embedding cache: " : "",
                           render(problem.error)),
               {{"code", problem.error.code.name()}, {"off", problem.off}});
}

// A damaged store can end a worker by a signal, so no later worker reads the cache. If a row is the
// real cause, the next failure shows it. Returns true if the next worker does without the cache
// because of this failure.
bool Recovery::leave_cache_after(const Worker& worker, const ErrorDetail& error) {
  if (error.code == kCacheStalled) return true;  // the worker has reported it
  if (error.code != kDied || !embedding_cache_ || config_.embedding_cache.dir.empty()) return false;
  on_cache_problem(worker,
                   {.error = {.code = "cache.damaged",
                              .what = "the worker died; the embedding cache may be the cause",
                              .where = config_.embedding_cache.dir,
                              .expected = "a worker that lives",
                              .found = error.found,
                              .hint = "check the cache with: encode cache verify --dir " +
                                      config_.embedding_cache.dir},
                    .off = true});
  return true;
}

void Recovery::on_rows_set_aside(const Worker& worker, const StreamPlan& stream,
                                 const std::vector<SetAsideRow>& rows) {
  for (const SetAsideRow& row : rows) {
    FaultRecord fault = record(worker, FaultType::kBadRow, ErrorDetail());
    fault.code = row.code;
    fault.message = row.message;
    fault.action = FaultAction::kRowSetAside;
    fault.stream = stream.config.name();
    fault.rows = {.begin = row.row, .end = row.row + 1};
    faults_.add(fault);
    log_.warning("row_set_aside",
                 fmt::format("{}: row {} cannot be encoded and is set aside: [{}] {}",
                             stream.config.name(), row.row, row.code, preview(row.message, 300)),
                 {{"stream", stream.config.name()}, {"row", row.row}, {"code", row.code}});
  }
}

FaultRecord Recovery::record(const Worker& worker, FaultType type, const ErrorDetail& error) const {
  const bool named = !worker.label.empty() && !worker.device.empty();
  FaultRecord fault = {.type = type,
                       .rows = worker.all_rows(),
                       .code = std::string(error.code.name()),
                       .message = error.what,
                       .config_path = config_.config_path,
                       .device = worker.label + (named ? " " : "") + worker.device};
  if (const StreamPlan* stream = worker.stream(worker.unit)) {
    fault.stream = stream->config.name();
    fault.model_path = stream->model_path;
    fault.dtype = to_string(stream->effective.dtype);
  }
  return fault;
}

double Recovery::worker_failed(size_t number, const WorkerOutcome& outcome) {
  try {
    const double delay = decide(number, outcome);
    policy_.worker_ended(number);
    return delay;
  } catch (const Error&) {
    policy_.worker_ended(number);
    throw;
  }
}

double Recovery::decide(size_t number, const WorkerOutcome& outcome) {
  const Worker& worker = workers_[number];
  const bool in_window = worker.unit >= 0;
  // A row may be the cause of an operation that LibTorch refuses, or of a defect.
  const bool may_be_a_row = in_window && outcome.error.exit_code == ExitCode::kInternal;
  if (outcome.end == WorkerOutcome::End::kFatal && !may_be_a_row) throw Error(outcome.error);
  FaultRecord fault = record(worker, type_of(outcome.error), outcome.error);
  fault.action = FaultAction::kRestarted;
  double delay = 0;
  if (leave_cache_after(worker, outcome.error)) {
    // The cache is to blame: no row is suspected, and no restart is counted.
  } else if (window_share_.halve_after(outcome.error.code)) {
    // No row is blamed, because the next worker needs less memory for the same rows.
    delay = policy_.restart(outcome.error, number);
    fault.action = FaultAction::kWindowHalved;
    log_.info("window_halved",
              fmt::format("the next worker reads ahead {:.1f}% of what it usually does",
                          100 * window_share_.value()),
              {{"window_share", window_share_.value()}});
  } else if (outcome.error.code == kNvmlFailure && expandable_segments_) {
    delay = policy_.restart(outcome.error, number);
    expandable_segments_ = false;
    fault.action = FaultAction::kRestartedWithoutExpandableSegments;
    log_.info("no_expandable_segments",
              "the next worker process starts without expandable segments");
  } else {
    FaultPolicy::Failure failure = {.stream = fault.stream,
                                    .rows = worker.rows,
                                    .ahead = worker.ahead,
                                    .probing = worker.probing,
                                    .cause = outcome.error,
                                    .worker = number};
    if (in_window && failure.cause.where.empty())
      failure.cause.where = fmt::format("{}, {}", fault.stream, worker.rows_text());
    const FaultPolicy::Decision decision = policy_.decide(failure);
    delay = decision.delay_seconds;
    if (decision.searching) fault.action = FaultAction::kBisecting;
    if (decision.culprit)
      on_rows_set_aside(worker, *worker.stream(worker.unit), {*decision.culprit});
  }
  faults_.add(fault);
  const std::string rows =
      in_window ? fmt::format(" in {} of {}", worker.rows_text(), fault.stream) : "";
  log_.warning("worker_restart",
               fmt::format("{}{}{}; starting another worker in {} (restart {} of {})",
                           worker.prefix(), outcome.error.what, rows, format_duration(delay),
                           policy_.restarts(number), config_.hardware.max_restarts),
               {{"code", outcome.error.code.name()},
                {"found", outcome.error.found},
                {"action", name_of(kFaultActions, fault.action)},
                {"restarts", policy_.restarts(number)}});
  return delay;
}

void Recovery::worker_retired(size_t number, const std::string& reason) {
  const Worker& worker = workers_[number];
  policy_.worker_ended(number);
  FaultRecord fault = record(worker, FaultType::kRecycled, ErrorDetail());
  fault.message = reason;
  fault.action = FaultAction::kRestarted;
  fault.rows = {};
  faults_.add(fault);
  log_.info("worker_retired", fmt::format("{}a new worker process replaces the old one: {}",
                                          worker.prefix(), reason));
}

void Recovery::device_lost(size_t number, const ErrorDetail& error) {
  const Worker& worker = workers_[number];
  FaultRecord fault = record(worker, type_of(error), error);
  fault.action = FaultAction::kDeviceLost;
  faults_.add(fault);
  log_.warning("device_lost",
               fmt::format("{}the run goes on without this device: [{}] {}", worker.prefix(),
                           error.code.name(), error.what),
               {{"device", worker.label}, {"code", error.code.name()}, {"found", error.found}});
}

void Recovery::gave_up(size_t number, const ErrorDetail& error) {
  FaultRecord fault = record(workers_[number], type_of(error), error);
  fault.action = FaultAction::kGaveUp;
  faults_.add(fault);
}

}  // namespace encode
