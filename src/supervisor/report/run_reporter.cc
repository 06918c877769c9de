#include "supervisor/report/run_reporter.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/host.h"
#include "base/units.h"
#include "supervisor/report/summary.h"

namespace encode {
namespace {

constexpr auto kMemoryInterval = std::chrono::seconds(60);
constexpr int64_t kMaxGarbageWarnings = 3;

Json rows_json(RowRange rows) { return {rows.begin, rows.end}; }

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

void RunReporter::worker_started(std::vector<UnitProgress> units) {
  units_ = std::move(units);
  unit_ = -1;
  chunk_ = -1;
  unit_rows_ = 0;
  unit_tokens_ = 0;
  earlier_rows_ = 0;
  earlier_tokens_ = 0;
  progress_.restart();
  log_.info("worker_started", "loading the model");
  state("loading", nullptr);
}

void RunReporter::worker_ended() {
  measure(unit_);
  progress_.clear();
}

void RunReporter::event(const WorkerEvent& event) {
  const int64_t unit = unit_number(event);
  if (unit < 0 || unit >= static_cast<int64_t>(units_.size()))
    return garbage(to_json_line(event), "it names a unit that does not exist");
  std::visit([this](const auto& alternative) { on(alternative); }, event);
}

void RunReporter::on(const LogLine& line) {
  if (line.level == "warning" || line.level == "error") {
    log_.warning("worker_log", line.message);
  } else if (line.level == "info") {
    log_.info("worker_log", line.message);
  } else {
    log_.debug("worker_log", line.message);
  }
}

void RunReporter::on(const ModelLoaded& event) {
  worker_peak_bytes_ = std::max(worker_peak_bytes_, event.host_rss_bytes);
  const DeviceFacts& device = event.device;
  const std::string driver = device.driver.empty() ? "" : ", driver " + device.driver;
  log_.info(
      "model_loaded",
      fmt::format("model loaded on {} in {}, embedding dimension {}, LibTorch {}{}{}",
                  describe(device), format_duration(event.seconds), event.dim, device.libtorch,
                  driver, event.tokenizer.empty() ? "" : "; tokenizer " + event.tokenizer),
      {{"device", describe(device)},
       {"dim", event.dim},
       {"seconds", event.seconds},
       {"libtorch", device.libtorch},
       {"driver", device.driver}});
}

void RunReporter::on(const UnitStarted& event) {
  unit_ = event.unit;
  unit_rows_ = 0;
  unit_tokens_ = 0;
  unit_watch_.lap();
  const UnitProgress& unit = unit_of(unit_);
  log_.info(
      "stream_started",
      fmt::format(
          "==== {}: {} rows of {} ({}) ====", unit.name, format_count(unit.rows), unit.input_path,
          unit.chunk_files ? fmt::format("{} chunks", unit.chunks) : "standard mode, one pass"),
      {{"stream", unit.name},
       {"rows", unit.rows},
       {"rows_done", unit.rows_before},
       {"mode", unit.chunk_files ? "chunked" : "standard"}});
  const BatchPlan& plan = event.plan;
  log_.info("batch_plan", fmt::format("{}: {}", unit.name, describe(plan)),
            {{"stream", unit.name},
             {"budget_tokens", plan.budget_tokens},
             {"launch_tokens", plan.launch_tokens},
             {"longest_row_tokens", plan.longest_row_tokens}});
}

std::string RunReporter::chunk_name(int64_t unit, int64_t chunk, RowRange rows) const {
  return fmt::format("chunk {}/{} (samples {}-{})", chunk + 1,
                     units_[static_cast<size_t>(unit)].chunks, rows.begin, rows.end);
}

void RunReporter::on(const ChunkStarted& event) {
  chunk_ = event.chunk;
  const UnitProgress& unit = unit_of(event.unit);
  if (!unit.chunk_files) return;
  log_.info("chunk_started",
            fmt::format("{} {}", unit.name, chunk_name(event.unit, event.chunk, event.rows)),
            {{"stream", unit.name}, {"chunk", event.chunk}, {"rows", rows_json(event.rows)}});
}

void RunReporter::on(const BatchDone& event) {
  UnitProgress& unit = unit_of(event.unit);
  unit_rows_ = event.rows_done;
  unit_tokens_ = event.tokens_done;
  unit.rows_done = std::min(unit.rows, unit.rows_before + event.rows_done);
  int64_t rows_left = 0;
  for (const UnitProgress& other : units_) rows_left += other.rows - other.rows_done;
  progress_.encoded(Clock::now(), earlier_rows_ + unit_rows_, earlier_tokens_ + unit_tokens_);
  progress_.update(unit.name, unit.rows_done, unit.rows, rows_left);
}

void RunReporter::on(const ChunkDone& event) {
  const UnitProgress& unit = unit_of(event.unit);
  if (!unit.chunk_files) return;
  worker_peak_bytes_ = std::max(worker_peak_bytes_, event.host_rss_bytes);
  std::string rate;
  if (event.seconds > 0) {
    rate = fmt::format(", {} tokens/s",
                       format_rate(static_cast<double>(event.stats.tokens) / event.seconds));
  }
  const std::string text =
      fmt::format("{} chunk {}/{} saved to {} ({}, {}{}){}", unit.name, event.chunk + 1,
                  unit.chunks, event.path, format_bytes(event.file_bytes),
                  format_duration(event.seconds), rate, device_memory(event.memory));
  log_.info("chunk_done", text,
            {{"stream", unit.name},
             {"chunk", event.chunk},
             {"rows", rows_json(event.rows)},
             {"path", event.path},
             {"file_bytes", event.file_bytes},
             {"seconds", event.seconds},
             {"tokens", event.stats.tokens},
             {"truncated_rows", event.stats.truncated_rows},
             {"device_allocated_bytes", event.memory.allocated_bytes},
             {"device_reserved_bytes", event.memory.reserved_bytes},
             {"host_rss_bytes", event.host_rss_bytes}});
}

void RunReporter::on(const UnitDone& event) {
  UnitProgress& unit = unit_of(event.unit);
  const Json seconds = to_json(event.stages);
  log_.debug("stream_done", fmt::format("{}: seconds {}", unit.name, seconds.dump()),
             {{"stream", unit.name}, {"seconds", seconds}});
  measure(event.unit);
  unit.rows_done = unit.rows;
  earlier_rows_ += unit_rows_;
  earlier_tokens_ += unit_tokens_;
  unit_ = -1;
  unit_rows_ = 0;
  unit_tokens_ = 0;
}

void RunReporter::measure(int64_t unit) {
  if (unit < 0 || unit != unit_) return;
  StreamRate& rate = rates_[units_[static_cast<size_t>(unit)].stream];
  rate.tokens += unit_tokens_;
  rate.seconds += unit_watch_.seconds();
}

void RunReporter::output(std::string_view line) {
  constexpr size_t kMaxBytes = 500;
  log_.warning("worker_output", "worker: " + preview(line, kMaxBytes));
}

void RunReporter::garbage(std::string_view line, const std::string& why) {
  if (++garbage_lines_ > kMaxGarbageWarnings) return;
  log_.warning("worker_garbage", fmt::format("the worker sent a line that is not an event ({}): {}",
                                             why, preview(line)));
}

void RunReporter::tick(Clock::time_point now) {
  progress_.tick(now);
  status_.write(status(), false);
  if (now - memory_logged_ < kMemoryInterval) return;
  memory_logged_ = now;
  const HostMemory memory = host_memory();
  log_.info("host_memory", describe(memory),
            {{"used_percent", memory.used_percent()}, {"available_bytes", memory.available_bytes}});
}

Json RunReporter::status() const {
  Json streams = Json::array();
  for (const UnitProgress& unit : units_) {
    streams.push_back({{"stream", unit.name}, {"rows_done", unit.rows_done}, {"rows", unit.rows}});
  }
  Json status = {
      {"state", unit_ < 0 ? "loading" : "encoding"}, {"restarts", restarts}, {"streams", streams}};
  if (unit_ >= 0) {
    status["stream"] = units_[static_cast<size_t>(unit_)].name;
    status["chunk"] = chunk_;
  }
  return status;
}

void RunReporter::state(const std::string& state, const ErrorDetail* error) {
  Json now = status();
  now["state"] = state;
  if (error != nullptr) {
    now["error"] = {{"code", error->code}, {"what", error->what}, {"where", error->where}};
    now["exit_code"] = static_cast<int>(error->exit_code);
  }
  status_.write(std::move(now), true);
}

}  // namespace encode
