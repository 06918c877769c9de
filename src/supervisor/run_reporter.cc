#include "supervisor/run_reporter.h"

#include <algorithm>
#include <utility>

#include "base/host.h"
#include "base/units.h"
#include "supervisor/summary.h"

namespace encode {
namespace {

constexpr auto kMemoryInterval = std::chrono::seconds(60);
constexpr int64_t kMaxGarbageWarnings = 3;

Json rows_json(RowRange rows) { return {rows.begin, rows.end}; }

std::string device_memory(const WorkerEvent& event) {
  if (event.device_reserved_bytes == 0) return "";
  return ", device memory " + format_bytes(event.device_allocated_bytes) + " allocated, " +
         format_bytes(event.device_reserved_bytes) + " reserved";
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
  using Kind = WorkerEvent::Kind;
  worker_peak_bytes_ = std::max(worker_peak_bytes_, event.host_rss_bytes);
  switch (event.kind) {
    case Kind::kModelLoaded:
      return model_loaded(event);
    case Kind::kMemory:
      return memory(event);
    case Kind::kLog:
      return worker_log(event);
    case Kind::kError:  // told where the outcome is dealt with
    case Kind::kFinished:
      return;
    default:
      break;
  }
  if (event.unit < 0 || event.unit >= static_cast<int64_t>(units_.size())) {
    return garbage(to_json_line(event), "no such unit");
  }
  switch (event.kind) {
    case Kind::kUnitStarted:
      return unit_started(event);
    case Kind::kChunkStarted:
      return chunk_started(event);
    case Kind::kBatch:
      return batch(event);
    case Kind::kChunkDone:
      return chunk_done(event);
    case Kind::kUnitDone:
      return unit_done(event);
    default:
      return;
  }
}

void RunReporter::memory(const WorkerEvent& event) {
  log_.debug("worker_memory",
             "worker: host memory " + format_bytes(event.host_rss_bytes) + device_memory(event));
}

void RunReporter::worker_log(const WorkerEvent& event) {
  if (event.level == "warning" || event.level == "error") {
    log_.warning("worker_log", event.message);
  } else if (event.level == "info") {
    log_.info("worker_log", event.message);
  } else {
    log_.debug("worker_log", event.message);
  }
}

void RunReporter::model_loaded(const WorkerEvent& event) {
  log_.info("model_loaded",
            "model loaded on " + event.device + " in " + format_duration(event.seconds) +
                ", embedding dimension " + std::to_string(event.dim) + device_memory(event) +
                (event.message.empty() ? "" : "; tokenizer " + event.message),
            {{"device", event.device}, {"dim", event.dim}, {"seconds", event.seconds}});
}

void RunReporter::unit_started(const WorkerEvent& event) {
  unit_ = event.unit;
  unit_rows_ = 0;
  unit_tokens_ = 0;
  unit_watch_.lap();
  const UnitProgress& unit = units_[static_cast<size_t>(unit_)];
  const std::string mode =
      unit.chunk_files ? std::to_string(unit.chunks) + " chunks" : "standard mode, one pass";
  log_.info("stream_started",
            "==== " + unit.name + ": " + format_count(unit.rows) + " rows of " + unit.input_path +
                " (" + mode + ") ====",
            {{"stream", unit.name},
             {"rows", unit.rows},
             {"rows_done", unit.rows_before},
             {"mode", unit.chunk_files ? "chunked" : "standard"}});
}

std::string RunReporter::chunk_name(int64_t unit, int64_t chunk, RowRange rows) const {
  return "chunk " + std::to_string(chunk + 1) + "/" +
         std::to_string(units_[static_cast<size_t>(unit)].chunks) + " (samples " +
         std::to_string(rows.begin) + "-" + std::to_string(rows.end) + ")";
}

void RunReporter::chunk_started(const WorkerEvent& event) {
  chunk_ = event.chunk;
  const UnitProgress& unit = units_[static_cast<size_t>(event.unit)];
  if (!unit.chunk_files) return;
  log_.info("chunk_started", unit.name + " " + chunk_name(event.unit, event.chunk, event.rows),
            {{"stream", unit.name}, {"chunk", event.chunk}, {"rows", rows_json(event.rows)}});
}

void RunReporter::batch(const WorkerEvent& event) {
  UnitProgress& unit = units_[static_cast<size_t>(event.unit)];
  unit_rows_ = event.rows_done;
  unit_tokens_ = event.tokens_done;
  unit.rows_done = std::min(unit.rows, unit.rows_before + event.rows_done);
  int64_t rows_left = 0;
  for (const UnitProgress& other : units_) rows_left += other.rows - other.rows_done;
  progress_.encoded(Clock::now(), earlier_rows_ + unit_rows_, earlier_tokens_ + unit_tokens_);
  progress_.update(unit.name, unit.rows_done, unit.rows, rows_left);
}

void RunReporter::chunk_done(const WorkerEvent& event) {
  const UnitProgress& unit = units_[static_cast<size_t>(event.unit)];
  if (!unit.chunk_files) return;
  std::string text = unit.name + " chunk " + std::to_string(event.chunk + 1) + "/" +
                     std::to_string(unit.chunks) + " saved to " + event.path + " (" +
                     format_bytes(event.file_bytes) + ", " + format_duration(event.seconds);
  if (event.seconds > 0) {
    text +=
        ", " + format_rate(static_cast<double>(event.stats.tokens) / event.seconds) + " tokens/s";
  }
  text += ")" + device_memory(event);
  log_.info("chunk_done", text,
            {{"stream", unit.name},
             {"chunk", event.chunk},
             {"rows", rows_json(event.rows)},
             {"path", event.path},
             {"file_bytes", event.file_bytes},
             {"seconds", event.seconds},
             {"tokens", event.stats.tokens},
             {"truncated_rows", event.stats.truncated_rows},
             {"device_allocated_bytes", event.device_allocated_bytes},
             {"device_reserved_bytes", event.device_reserved_bytes},
             {"host_rss_bytes", event.host_rss_bytes}});
}

void RunReporter::unit_done(const WorkerEvent& event) {
  UnitProgress& unit = units_[static_cast<size_t>(event.unit)];
  const Json seconds = to_json(event.stages);
  log_.debug("stream_done", unit.name + ": seconds " + seconds.dump(),
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
  log_.warning("worker_garbage",
               "the worker sent a line that is no event (" + why + "): " + preview(line));
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
