#include <algorithm>
#include <array>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <map>
#include <span>

#include "base/json_values.h"
#include "base/shell_quote.h"
#include "base/units.h"
#include "run_record/cache_report.h"
#include "run_record/run_status.h"
#include "run_record/stage_report.h"

namespace encode {
namespace {

constexpr NameTable<StreamStatus::State, 5> kStates = {
    {{"not_started", StreamStatus::State::kNotStarted},
     {"encoding", StreamStatus::State::kEncoding},
     {"partial", StreamStatus::State::kPartial},
     {"done", StreamStatus::State::kDone},
     {"unreadable", StreamStatus::State::kUnreadable}}};

std::string utc(int64_t time) {
  try {
    return fmt::format("{:%Y-%m-%d %H:%M:%SZ}", fmt::gmtime(std::time_t{time}));
  } catch (const fmt::format_error&) {  // a year that the calendar does not have
    return "?";
  }
}

// "[config.value] the value is wrong (run.yaml)"
std::string error_text(const std::string& code, const std::string& what, const std::string& where) {
  const std::string text = fmt::format("[{}] {}", preview(code), preview(what, 300));
  return where.empty() ? text : fmt::format("{} ({})", text, preview(where, 300));
}

// "running, encoding", "ended while it read its inputs"
std::string state_in_words(const RunStatus& status) {
  if (status.state == "died" && status.phase == "scanning") return "ended while it read its inputs";
  std::string text = preview(status.state);
  if (status.state == "running" && !status.phase.empty()) text += ", " + preview(status.phase);
  if (status.phase.empty()) return text;
  if (status.state == "died")
    text += fmt::format(" without a message while it was {}", preview(status.phase));
  if (status.state == "failed" && status.last_fault)
    text += fmt::format(" while it was {}", preview(status.phase));
  return text;
}

// "2026-01-31 12:00:00Z, error [io.space] cannot write, tc rows 0-10: gave_up"
std::string described(const FaultRecord& fault) {
  std::string text = fmt::format("{}, {}", utc(fault.time), name_of(kFaultTypes, fault.type));
  if (!fault.code.empty()) text += fmt::format(" [{}]", preview(fault.code));
  if (!fault.message.empty()) text += fmt::format(" {}", preview(fault.message, 300));
  if (!fault.stream.empty())
    text += fmt::format(", {} rows {}-{}", preview(fault.stream), fault.rows.begin, fault.rows.end);
  if (fault.action != FaultAction::kNone)
    text += fmt::format(": {}", name_of(kFaultActions, fault.action));
  return text;
}

std::string rate_line(const RunStatus& status) {
  if (status.rows_per_second <= 0) return "";
  std::string text =
      fmt::format("rate      {} rows/s, {} tokens/s", format_rate(status.rows_per_second),
                  format_rate(status.tokens_per_second));
  if (status.seconds_left >= 0)
    text += fmt::format(", {} left", format_duration(status.seconds_left));
  return text + "\n";
}

std::string head(const RunStatus& status) {
  std::string text = fmt::format("run       {}", state_in_words(status));
  if (status.lock.pid > 0) {
    text += fmt::format(", process {} on {}", status.lock.pid, preview(status.lock.host));
    if (!status.lock.started.empty()) text += ", started " + preview(status.lock.started);
  }
  text += '\n';
  if (status.written > 0)
    text += fmt::format("reported  {}, {}\n", utc(status.written),
                        format_count(status.restarts, "restart", "restarts"));
  text += rate_line(status);
  if (status.last_fault) {
    text += fmt::format("fault     {}\n", described(*status.last_fault));
  } else if (!status.error_code.empty()) {
    text += fmt::format("error     {}\n",
                        error_text(status.error_code, status.error_what, status.error_where));
  }
  if (status.refused) {
    const RefusedRun& run = *status.refused;
    text += fmt::format("refused   {}, a later run, which changed nothing: {}\n", utc(run.time),
                        error_text(run.code, run.what, run.where));
  }
  return text;
}

Json to_json(const RefusedRun& refused) {
  return {{"time", refused.time},
          {"code", refused.code},
          {"what", refused.what},
          {"where", refused.where},
          {"exit_code", refused.exit_code}};
}

std::string line_of(const StreamStatus& stream) {
  std::string text =
      fmt::format("  {:<24} {:<11}", preview(stream.name), name_of(kStates, stream.state));
  const bool encoding = stream.state == StreamStatus::State::kEncoding;
  const int64_t rows = encoding ? stream.rows_computed : stream.rows_done;
  if (stream.rows >= 0) {
    const double percent =
        stream.rows > 0 ? 100.0 * static_cast<double>(rows) / static_cast<double>(stream.rows)
                        : 100.0;
    text += fmt::format(" {:5.1f}% {} of {}", percent, format_count(rows),
                        format_count(stream.rows, "row", "rows"));
    if (encoding) text += fmt::format(" computed, {} saved", format_count(stream.rows_done));
  }
  if (stream.chunks >= 0)
    text += fmt::format(", {} of {}", format_count(stream.chunks_done),
                        format_count(stream.chunks, "chunk", "chunks"));
  if (stream.rows_set_aside > 0)
    text += fmt::format(", {} set aside", format_count(stream.rows_set_aside, "row", "rows"));
  return text + "\n";
}

std::string line_of(const WorkerStatus& worker) {
  return fmt::format("  {:<24} {:<11} {}\n", preview(worker.device), preview(worker.state),
                     preview(worker.stream.empty() ? worker.name : worker.stream));
}

std::string line_of(const FaultSummary& fault) {
  std::string text =
      fmt::format("  {} x {}", format_count(fault.count), name_of(kFaultTypes, fault.type));
  if (!fault.code.empty()) text += fmt::format(" [{}]", preview(fault.code));
  text += fmt::format(", last {}", utc(fault.last.time));
  if (!fault.last.stream.empty()) {
    text += fmt::format(", {} rows {}-{}", preview(fault.last.stream), fault.last.rows.begin,
                        fault.last.rows.end);
  }
  if (fault.last.action != FaultAction::kNone)
    text += fmt::format(": {}", name_of(kFaultActions, fault.last.action));
  if (!fault.last.message.empty())
    text += fmt::format("\n    {}", preview(fault.last.message, 200));
  return text + "\n";
}

std::string line_of(const MemorySample& sample) {
  std::string text = fmt::format(
      "  {}  worker {}, host {} free of {}", utc(sample.time), format_bytes(sample.worker_bytes),
      format_bytes(sample.host_available_bytes), format_bytes(sample.host_limit_bytes));
  if (sample.device.total_bytes > 0) {
    const DeviceMemory& device = sample.device;
    text += fmt::format(", device {} allocated, {} reserved but unallocated of {}",
                        format_bytes(device.allocated_bytes),
                        format_bytes(device.reserved_bytes - device.allocated_bytes),
                        format_bytes(device.total_bytes));
  }
  const GpuSample& gpu = sample.gpu;
  if (gpu.used_bytes >= 0) text += fmt::format(", GPU {} used", format_bytes(gpu.used_bytes));
  if (gpu.utilization_percent >= 0) text += fmt::format(", {}% busy", gpu.utilization_percent);
  if (gpu.temperature_celsius >= 0) text += fmt::format(", {} C", gpu.temperature_celsius);
  if (sample.tokens_per_second > 0)
    text += fmt::format(", {} tokens/s", format_rate(sample.tokens_per_second));
  return text + "\n";
}

// Shows the last warnings only, because a run of days may have many.
constexpr size_t kShownWarnings = 8;

std::string warning_lines(const std::vector<GpuWarning>& warnings) {
  std::string text;
  const size_t first = warnings.size() - std::min(warnings.size(), kShownWarnings);
  if (first > 0) text += fmt::format("  {} earlier ones\n", first);
  for (size_t i = first; i < warnings.size(); ++i) {
    text +=
        fmt::format("  {}  {}: {}\n", utc(warnings[i].time),
                    name_of(kGpuTroubles, warnings[i].trouble), preview(warnings[i].message, 300));
  }
  return text;
}

// Shows at most this many samples, evenly from the first to the last.
constexpr size_t kShownSamples = 8;

std::string memory_lines(const std::vector<MemorySample>& samples) {
  std::string text;
  for (const MemorySample& sample : evenly_spaced<MemorySample>(samples, kShownSamples))
    text += line_of(sample);
  return text;
}

Json to_json(const StreamStatus& stream) {
  return {{"stream", stream.name},
          {"state", name_of(kStates, stream.state)},
          {"rows", stream.rows},
          {"rows_done", stream.rows_done},
          {"rows_computed", stream.rows_computed},
          {"chunks", stream.chunks},
          {"chunks_done", stream.chunks_done},
          {"rows_set_aside", stream.rows_set_aside}};
}

Json to_json(const WorkerStatus& worker) {
  return {{"device", worker.device},
          {"name", worker.name},
          {"state", worker.state},
          {"stream", worker.stream}};
}

Json to_json(const FaultSummary& fault) {
  return {{"type", name_of(kFaultTypes, fault.type)},
          {"code", fault.code},
          {"count", fault.count},
          {"last_time", fault.last.time},
          {"last_action", name_of(kFaultActions, fault.last.action)},
          {"last_stream", fault.last.stream},
          {"last_chunk", fault.last.chunk},
          {"last_rows", rows_json(fault.last.rows)},
          {"last_message", fault.last.message}};
}

std::string line_of(const RunBelow& run) {
  std::string text = fmt::format("  {:<32} {:<11}", preview(run.path, 300), preview(run.state));
  if (run.rows > 0)
    text += fmt::format(" {} of {}", format_count(run.rows_done),
                        format_count(run.rows, "row", "rows"));
  return text + "\n";
}

Json to_json(const RunBelow& run) {
  return {
      {"path", run.path}, {"state", run.state}, {"rows", run.rows}, {"rows_done", run.rows_done}};
}

// Shows the runs below a folder that is not a cache directory itself.
std::string list_of_runs(const RunStatus& status) {
  std::string text = fmt::format("folder    {}\nruns\n", preview(status.cache_dir, 300));
  for (const RunBelow& run : status.runs) text += line_of(run);
  if (status.more_runs > 0) text += fmt::format("  and {} more\n", format_count(status.more_runs));
  return text;
}

// "no run is named, so this is the one in cache/embeddings; newer here: b.npy (running)"
std::string note_of_newer(const RunStatus& status) {
  constexpr size_t kShown = 3;
  std::vector<std::string> names;
  for (const RunBelow& run : std::span(status.newer).first(std::min(kShown, status.newer.size())))
    names.push_back(fmt::format("{} ({})", preview(run.path, 200), preview(run.state)));
  if (status.newer.size() > kShown)
    names.push_back(fmt::format("{} more", status.newer.size() - kShown));
  return fmt::format(
      "note      no run is named, so this is the one in {}; newer here: {}\n"
      "          {} shows the latest\n",
      preview(status.cache_dir, 300), fmt::join(names, ", "),
      shell_command({"encode", "status", status.newer.front().path}));
}

std::string everything_else(const RunStatus& status) {
  std::string text = "streams\n";
  for (const StreamStatus& stream : status.streams) text += line_of(stream);
  if (!status.workers.empty()) text += "devices\n";
  for (const WorkerStatus& worker : status.workers) text += line_of(worker);
  if (status.reuse.requests + status.reuse.deduplicated_rows > 0)
    text += fmt::format("reuse     {}\n", describe(status.reuse));
  if (const std::string stages = describe(status.stages); !stages.empty())
    text += fmt::format("stages    {}\n", stages);
  if (!status.faults.empty()) text += "faults\n";
  for (const FaultSummary& fault : status.faults) text += line_of(fault);
  if (status.faults_dropped) text += "  older records were dropped to limit the size\n";
  if (!status.memory.empty()) text += "memory\n" + memory_lines(status.memory);
  if (!status.warnings.empty()) text += "warnings\n" + warning_lines(status.warnings);
  return text;
}

// Returns the lines of streams for StatusDetail::kShort: all streams if they are few, else the
// streams that are being encoded and other unfinished ones.
std::string short_stream_lines(const std::vector<StreamStatus>& streams) {
  constexpr size_t kFew = 8;
  std::vector<StreamStatus> shown;
  std::copy_if(streams.begin(), streams.end(), std::back_inserter(shown), [&](const auto& stream) {
    return streams.size() <= kFew || stream.state != StreamStatus::State::kDone ||
           stream.rows_set_aside > 0;
  });
  if (shown.size() > kFew) {
    std::stable_partition(shown.begin(), shown.end(), [](const auto& stream) {
      return stream.state == StreamStatus::State::kEncoding;
    });
    shown.resize(kFew);
  }
  std::string text;
  for (const StreamStatus& stream : shown) text += line_of(stream);
  if (shown.size() == streams.size()) return text;
  const auto done = std::count_if(streams.begin(), streams.end(), [](const auto& stream) {
    return stream.state == StreamStatus::State::kDone;
  });
  return text + fmt::format("  {} of {} streams are done; --verbose lists all of them\n", done,
                            streams.size());
}

// "2 encoding, 1 lost"
std::string counted_states(const std::vector<WorkerStatus>& workers) {
  std::map<std::string, size_t> counts;
  for (const WorkerStatus& worker : workers) ++counts[worker.state];
  std::vector<std::string> parts;
  for (const auto& [state, count] : counts)
    parts.push_back(fmt::format("{} {}", count, preview(state)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string what_matters(const RunStatus& status) {
  std::string text = "streams\n" + short_stream_lines(status.streams);
  if (!status.workers.empty())
    text += fmt::format("devices   {}\n", counted_states(status.workers));
  if (!status.faults.empty()) {
    int64_t count = 0;
    for (const FaultSummary& fault : status.faults) count += fault.count;
    const FaultSummary& most = status.faults.front();
    text += fmt::format("faults    {}, most often {}; --verbose lists them\n", format_count(count),
                        name_of(kFaultTypes, most.type));
  }
  if (!status.warnings.empty()) {
    const GpuWarning& last = status.warnings.back();
    text += fmt::format("warnings  {}, the last {}  {}: {}\n",
                        format_count(std::ssize(status.warnings)), utc(last.time),
                        name_of(kGpuTroubles, last.trouble), preview(last.message, 300));
  }
  return text;
}

template <typename Items>
Json array_of(const Items& items) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(to_json(item));
  return array;
}

}  // namespace

std::string render_text(const RunStatus& status, StatusDetail detail) {
  if (!status.runs.empty())
    return list_of_runs(status) + fmt::format("next      {}\n", status.advice);
  std::string text = status.newer.empty() ? "" : note_of_newer(status);
  text += fmt::format("cache     {}\n",
                      status.cache_dir.empty() ? "none is left" : preview(status.cache_dir, 300));
  if (!status.input_copy.empty())
    text += fmt::format("input     standard input; {} is the copy of it\n",
                        preview(status.input_copy, 300));
  text += head(status);
  const bool unused = status.state == "none" && status.streams.empty();
  if (!unused)
    text += detail == StatusDetail::kFull ? everything_else(status) : what_matters(status);
  for (const std::string& problem : status.problems) text += fmt::format("problem   {}\n", problem);
  return text + fmt::format("next      {}\n", status.advice);
}

std::string render_json(const RunStatus& status) {
  constexpr std::array<std::string_view, 3> kHeld = {"no", "yes", "unknown"};
  const Json json = {{"cache_dir", status.cache_dir},
                     {"state", status.state},
                     {"phase", status.phase},
                     {"lock_held", kHeld.at(static_cast<size_t>(status.lock.held))},
                     {"pid", status.lock.pid},
                     {"host", status.lock.host},
                     {"lock_started", status.lock.started},
                     {"time", status.written},
                     {"started", status.started},
                     {"restarts", status.restarts},
                     {"rows_per_second", status.rows_per_second},
                     {"tokens_per_second", status.tokens_per_second},
                     {"seconds_left", status.seconds_left},
                     {"error",
                      {{"code", status.error_code},
                       {"what", status.error_what},
                       {"where", status.error_where},
                       {"exit_code", status.exit_code}}},
                     {"refused", status.refused ? to_json(*status.refused) : Json()},
                     {"config", status.config_path},
                     {"command", to_json(status.command)},
                     {"input_copy", status.input_copy},
                     {"streams", array_of(status.streams)},
                     {"workers", array_of(status.workers)},
                     {"embedding_cache", to_json(status.reuse)},
                     {"stages", to_json(status.stages)},
                     {"faults", array_of(status.faults)},
                     {"faults_dropped", status.faults_dropped},
                     {"memory", array_of(status.memory)},
                     {"warnings", array_of(status.warnings)},
                     {"problems", status.problems},
                     {"runs", array_of(status.runs)},
                     {"newer_runs", array_of(status.newer)},
                     {"next", status.advice}};
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace encode
