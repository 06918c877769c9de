#include "supervisor/run_reporter.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <utility>

#include "base/host.h"
#include "base/json_values.h"
#include "base/units.h"
#include "run_record/cache_report.h"
#include "run_record/stage_report.h"
#include "store/run_files.h"

namespace encode {
namespace {

constexpr int64_t kMaxGarbageWarnings = 3;

std::string device_memory(const DeviceMemory& memory) {
  if (memory.reserved_bytes == 0) return "";
  return fmt::format(", device memory {} allocated, {} reserved",
                     format_bytes(memory.allocated_bytes), format_bytes(memory.reserved_bytes));
}

// Returns the index into JobSpec::units that the event carries, or 0 if it carries none.
int64_t unit_number(const WorkerEvent& event) {
  return std::visit(
      [](const auto& alternative) {
        if constexpr (requires { alternative.unit; }) return alternative.unit;
        return int64_t{0};
      },
      event);
}

}  // namespace

RunReporter::RunReporter(RunLog& log, Progress& progress, const RunConfig& config, size_t streams)
    : log_(log),
      progress_(progress),
      status_(RunFiles(config.store.cache_dir).status()),
      memory_log_(RunFiles(config.store.cache_dir).memory(),
                  [&log](const std::string& problem) { log.warning("memory_log", problem); }),
      config_path_(config.config_path),
      has_memory_limit_(config.hardware.memory_limit_bytes > 0),
      started_(static_cast<int64_t>(std::time(nullptr))),
      rates_(streams),
      cache_counts_(streams) {}

void RunReporter::worker_started(const WorkerName& name, std::vector<UnitProgress> units) {
  const bool others = std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) {
    const WorkerState state = entry.second.state;
    return state == WorkerState::kLoading || state == WorkerState::kEncoding;
  });
  Worker& worker = workers_[name.number];
  worker = {.label = name.label,
            .units = units,
            .peak_bytes = worker.peak_bytes,
            .restarts = worker.restarts,
            .gpu_watch = std::move(worker.gpu_watch),
            .gpu_sampler = std::move(worker.gpu_sampler)};
  worker.gpu_watch.worker_started();
  for (const UnitProgress& unit : units) committed_[unit.stream] = unit.rows_before;
  units_ = std::move(units);
  if (!others) progress_.restart();
  log_.detail("worker_started", worker.prefix() + "loading the model");
  if (!others) progress_.step("loading the model");
  if (!others) phase(RunPhase::kLoading, nullptr);
}

void RunReporter::worker_ended(size_t number) {
  Worker& worker = workers_[number];
  worker.unsaved_rows = std::max<int64_t>(0, worker.rows - worker.committed_rows);
  measure(worker);
  if (worker.gpu_sampler != nullptr) {
    if (const auto sample = worker.gpu_sampler->ask_now()) take(worker, *sample);
    sample_gpu(worker);
  }
  set_pressed(worker, false);
  worker.state = WorkerState::kEnded;
  log_memory(Clock::now());
  worker.memory = {};
  progress_.clear();
}

void RunReporter::restarted(size_t number, int64_t restarts) {
  workers_[number].state = WorkerState::kRestarting;
  workers_[number].restarts = restarts;
}

int64_t RunReporter::worker_peak_bytes() const {
  int64_t sum = 0;
  for (const auto& [number, worker] : workers_) sum += worker.peak_bytes;
  return sum;
}

int64_t RunReporter::unsaved_rows() const {
  int64_t sum = 0;
  for (const auto& [number, worker] : workers_) sum += worker.unsaved_rows;
  return sum;
}

void RunReporter::event(size_t number, const WorkerEvent& event) {
  Worker& worker = workers_[number];
  const int64_t unit = unit_number(event);
  if (unit < 0 || unit >= std::ssize(worker.units))
    return garbage(to_json_line(event), "it names a unit that does not exist");
  if (!std::holds_alternative<ChunkStarted>(event)) announce_chunks(worker);
  // clang 14 takes `this` for unused if an overload of on() is static.
  std::visit([&](const auto& alternative) { this->on(worker, alternative); }, event);
}

void RunReporter::on(Worker& worker, const LogLine& line) {
  const std::string message = worker.prefix() + line.message;
  switch (line.level) {
    case LogLevel::kDebug:
      return log_.debug("worker_log", message);
    case LogLevel::kInfo:
      return log_.info("worker_log", message);
    case LogLevel::kWarning:
      return log_.warning("worker_log", message);
  }
}

void RunReporter::on(Worker& worker, const ModelLoaded& event) {
  worker.peak_bytes = std::max(worker.peak_bytes, event.host_rss_bytes);
  worker.memory.worker_bytes = event.host_rss_bytes;
  const DeviceFacts& device = event.device;
  worker.device = device.name;
  const std::string driver = device.driver.empty() ? "" : ", driver " + device.driver;
  log_.info("model_loaded",
            fmt::format("{}model loaded on {} in {}, embedding dimension {}, LibTorch {}{}{}",
                        worker.prefix(), describe(device), format_duration(event.seconds),
                        event.dim, device.libtorch, driver,
                        event.tokenizer.empty() ? "" : "; tokenizer " + event.tokenizer),
            {{"device", describe(device)},
             {"dim", event.dim},
             {"seconds", event.seconds},
             {"libtorch", device.libtorch},
             {"driver", device.driver}});
  if (device.kind == DeviceKind::kCuda && worker.gpu_sampler == nullptr)
    worker.gpu_sampler = std::make_unique<GpuSampler>(device, gpu_interval);
}

void RunReporter::on(Worker& worker, const UnitStarted& event) {
  measure(worker);
  worker.unit = event.unit;
  worker.state = WorkerState::kEncoding;
  if (tokens_ == 0) record_memory();  // the first point of the charts
  const UnitProgress& unit = worker.unit_of(event.unit);
  ActiveTime& active = active_[unit.stream];
  if (active.workers++ == 0) active.watch.lap();
  // Other workers of the run announce the same streams.
  const bool known = !worker.label.empty() && !announced_.insert(unit.stream).second;
  const BatchPlan& plan = event.plan;
  const std::string batches = fmt::format("{}{}: {}", worker.prefix(), unit.name, describe(plan));
  if (known) return log_.debug("batch_plan", batches);
  log_.info("stream_started",
            fmt::format("==== {}: {} of {} ({}) ====", unit.name,
                        format_count(unit.rows, "row", "rows"), unit.input_path,
                        unit.chunk_files ? format_count(unit.chunks, "chunk", "chunks")
                                         : "standard mode, one pass"),
            {{"stream", unit.name},
             {"rows", unit.rows},
             {"rows_done", unit.rows_before},
             {"mode", unit.chunk_files ? "chunked" : "standard"}});
  log_.detail("batch_plan", batches,
              {{"stream", unit.name},
               {"budget_tokens", plan.budget_tokens},
               {"launch_tokens", plan.launch_tokens},
               {"longest_row_tokens", plan.longest_row_tokens}});
}

void RunReporter::on(Worker& worker, const ChunkStarted& event) {
  worker.chunk = event.chunk;
  if (!worker.unit_of(event.unit).chunk_files) return;
  if (!worker.opened) worker.opened = event;
  worker.opened->rows.end = event.rows.end;
  worker.last_opened = event.chunk;
}

// Logs one line for all chunks of a window, because they are encoded together.
void RunReporter::announce_chunks(Worker& worker) {
  if (!worker.opened) return;
  const ChunkStarted opened = *std::exchange(worker.opened, std::nullopt);
  const UnitProgress& unit = worker.unit_of(opened.unit);
  const std::string chunks =
      opened.chunk == worker.last_opened
          ? fmt::format("chunk {}", opened.chunk + 1)
          : fmt::format("chunks {} to {}", opened.chunk + 1, worker.last_opened + 1);
  log_.detail("chunk_started",
              fmt::format("{}{} {}/{} (samples {}-{})", worker.prefix(), unit.name, chunks,
                          unit.chunks, opened.rows.begin, opened.rows.end),
              {{"stream", unit.name},
               {"chunk", opened.chunk},
               {"last_chunk", worker.last_opened},
               {"rows", rows_json(opened.rows)}});
}

void RunReporter::on(Worker& worker, const ProbeStarted& event) {
  const std::string& name = worker.unit_of(event.unit).name;
  log_.info("probe_started",
            fmt::format("{}{}: looking for the row that makes the worker fail, in rows {} to {}",
                        worker.prefix(), name, event.rows.begin, event.rows.end - 1),
            {{"stream", name}, {"rows", rows_json(event.rows)}});
}

int64_t RunReporter::rows_done(const UnitProgress& unit) const {
  const auto committed = committed_.find(unit.stream);
  int64_t rows = committed == committed_.end() ? 0 : committed->second;
  for (const auto& [number, worker] : workers_) {
    const bool here = worker.unit >= 0 && worker.unit_of(worker.unit).stream == unit.stream;
    if (here) rows += std::max<int64_t>(0, worker.rows - worker.committed_rows);
  }
  return std::min(unit.rows, rows);
}

void RunReporter::on(Worker& worker, const BatchDone& event) {
  rows_ += std::max<int64_t>(0, event.rows_done - worker.rows);
  tokens_ += std::max<int64_t>(0, event.tokens_done - worker.tokens);
  worker.rows = event.rows_done;
  worker.tokens = event.tokens_done;
  int64_t rows_left = 0;
  for (const UnitProgress& other : worker.units) rows_left += other.rows - rows_done(other);
  const UnitProgress& unit = worker.unit_of(event.unit);
  progress_.encoded(Clock::now(), rows_, tokens_);
  progress_.update({.stream = unit.name,
                    .rows_done = rows_done(unit),
                    .rows_saved = unit.chunk_files ? committed_[unit.stream] : -1,
                    .rows_total = unit.rows},
                   rows_left);
}

void RunReporter::on(Worker& worker, const ChunkDone& event) {
  const UnitProgress& unit = worker.unit_of(event.unit);
  worker.memory.worker_bytes = event.host_rss_bytes;
  worker.memory.device = event.memory;
  if (const auto warning = worker.gpu_watch.chunk_done(event.memory)) warn(worker, *warning);
  committed_[unit.stream] += event.rows.size();
  worker.committed_rows += event.rows.size();
  if (!unit.chunk_files) return;
  worker.peak_bytes = std::max(worker.peak_bytes, event.host_rss_bytes);
  log_chunk(worker, event);
}

void RunReporter::log_chunk(const Worker& worker, const ChunkDone& event) {
  const UnitProgress& unit = worker.unit_of(event.unit);
  std::string rate;
  if (event.seconds > 0) {
    rate = fmt::format(", {} tokens/s",
                       format_rate(static_cast<double>(event.stats.tokens) / event.seconds));
  }
  const std::string text =
      fmt::format("{}{} chunk {}/{} saved to {} ({}, {}{}){}", worker.prefix(), unit.name,
                  event.chunk + 1, unit.chunks, event.path, format_bytes(event.file_bytes),
                  format_duration(event.seconds), rate, device_memory(event.memory));
  Json fields = {{"stream", unit.name},
                 {"chunk", event.chunk},
                 {"rows", rows_json(event.rows)},
                 {"path", event.path},
                 {"file_bytes", event.file_bytes},
                 {"seconds", event.seconds},
                 {"tokens", event.stats.tokens},
                 {"truncated_rows", event.stats.truncated_rows},
                 {"device_allocated_bytes", event.memory.allocated_bytes},
                 {"device_reserved_bytes", event.memory.reserved_bytes},
                 {"host_rss_bytes", event.host_rss_bytes}};
  if (!worker.label.empty()) fields["worker"] = worker.label;
  log_.detail("chunk_done", text, std::move(fields));
}

void RunReporter::on(Worker& worker, const UnitDone& event) {
  const UnitProgress& unit = worker.unit_of(event.unit);
  const Json seconds = to_json(event.stages);
  log_.debug("stream_done",
             fmt::format("{}{}: seconds {}", worker.prefix(), unit.name, seconds.dump()),
             {{"stream", unit.name}, {"seconds", seconds}});
  worker.stages = event.stages;
  measure(worker);
  log_cache(unit);
}

void RunReporter::on(Worker& worker, const CacheUsed& event) {
  cache_counts_[worker.unit_of(event.unit).stream].add(event.counts);
}

void RunReporter::log_cache(const UnitProgress& unit) {
  const CacheCounts& counts = cache_counts_[unit.stream];
  if (counts.requests + counts.deduplicated_rows == 0) return;
  Json fields = to_json(counts);
  fields["stream"] = unit.name;
  log_.info("embedding_cache", fmt::format("{}: {}", unit.name, describe(counts, unit.sequence)),
            fields);
}

// Adds the work and the time of the worker on its unit to the rate of the stream and to the stages.
void RunReporter::measure(Worker& worker) {
  if (worker.unit < 0) return;
  const size_t stream = worker.unit_of(worker.unit).stream;
  StreamRate& rate = rates_[stream];
  ActiveTime& active = active_[stream];
  rate.tokens += worker.tokens;
  if (--active.workers == 0) rate.seconds += active.watch.seconds();
  worker.unit = worker.chunk = -1;
  worker.rows = worker.tokens = worker.committed_rows = 0;
  measured_stages_.add(std::exchange(worker.stages, {}));
}

// Returns the time of the stages of all workers of the run.
StageSeconds RunReporter::stages() const {
  StageSeconds sum = measured_stages_;
  for (const auto& [number, worker] : workers_) {
    if (worker.unit >= 0) sum.add(worker.stages);
  }
  return sum;
}

void RunReporter::output(size_t worker, std::string_view line) {
  constexpr size_t kMaxBytes = 500;
  log_.warning("worker_output", workers_[worker].prefix() + "worker: " + preview(line, kMaxBytes));
}

void RunReporter::garbage(std::string_view line, const std::string& why) {
  if (++garbage_lines_ > kMaxGarbageWarnings) return;
  log_.warning("worker_garbage", fmt::format("the worker sent a line that is not an event ({}): {}",
                                             why, preview(line)));
}

void RunReporter::tick(Clock::time_point now) {
  progress_.tick(now);
  status_.write(status(), false);
  for (auto& [number, worker] : workers_) sample_gpu(worker);
  sample_memory(now);
}

Json RunReporter::worker_states() const {
  Json states = Json::array();
  for (const auto& [number, worker] : workers_) {
    Json state = {{"device", worker.label},
                  {"name", worker.device},
                  {"state", name_of(kWorkerStates, worker.state)}};
    if (worker.unit >= 0) {
      state["stream"] = worker.unit_of(worker.unit).name;
      state["chunk"] = worker.chunk;
    }
    states.push_back(std::move(state));
  }
  return states;
}

Json RunReporter::status() const {
  Json streams = Json::array();
  for (const UnitProgress& unit : units_)
    streams.push_back({{"stream", unit.name}, {"rows_done", rows_done(unit)}, {"rows", unit.rows}});
  const auto working = std::find_if(workers_.begin(), workers_.end(),
                                    [](const auto& entry) { return entry.second.unit >= 0; });
  int64_t restarts = 0;
  for (const auto& [number, worker] : workers_) restarts += worker.restarts;
  const RunPhase phase = working == workers_.end() ? RunPhase::kLoading : RunPhase::kEncoding;
  Json status = {{"state", name_of(kRunPhases, phase)},
                 {"started", started_},
                 {"config", config_path_},
                 {"command", to_json(command)},
                 {"restarts", restarts},
                 {"rows_per_second", progress_.rows_per_second()},
                 {"tokens_per_second", progress_.tokens_per_second()},
                 {"seconds_left", progress_.seconds_left()},
                 {"streams", streams}};
  CacheCounts reuse;
  for (const CacheCounts& counts : cache_counts_) {
    if (counts.requests + counts.deduplicated_rows > 0) reuse.add(counts);
  }
  status["embedding_cache"] = to_json(reuse);
  status["stages"] = to_json(stages());
  if (workers_.size() > 1) status["workers"] = worker_states();
  if (working != workers_.end()) {
    const Worker& worker = working->second;
    status["stream"] = worker.unit_of(worker.unit).name;
    status["chunk"] = worker.chunk;
  }
  return status;
}

void RunReporter::phase(RunPhase phase, const ErrorDetail* error) {
  Json now = status();
  now["state"] = name_of(kRunPhases, phase);
  if (error != nullptr) {
    now["error"] = {{"code", error->code.name()}, {"what", error->what}, {"where", error->where}};
    now["exit_code"] = static_cast<int>(error->exit_code);
  }
  status_.write(std::move(now), true);
}

}  // namespace encode
