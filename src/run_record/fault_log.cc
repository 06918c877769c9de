#include "run_record/fault_log.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "encode/error.h"

#include "base/json_values.h"
#include "base/units.h"
#include "store/layout.h"

namespace encode {
namespace {

constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxMessageBytes = 1000;
constexpr size_t kMaxPathBytes = 4096;
constexpr ErrorCode kFaultLogCode = "records.damaged";

RecordFileKind fault_records() { return {.name = "faults"}; }

// The line of a fault that happens now.
Json to_json(const FaultRecord& fault) {
  return {{"time", static_cast<int64_t>(std::time(nullptr))},
          {"type", name_of(kFaultTypes, fault.type)},
          {"action", name_of(kFaultActions, fault.action)},
          {"stream", fault.stream.substr(0, kMaxNameBytes)},
          {"chunk", fault.chunk},
          {"rows", rows_json(fault.rows)},
          {"code", fault.code.substr(0, kMaxNameBytes)},
          {"message", fault.message.substr(0, kMaxMessageBytes)},
          {"config", fault.config_path.substr(0, kMaxPathBytes)},
          {"model", fault.model_path.substr(0, kMaxPathBytes)},
          {"dtype", fault.dtype.substr(0, kMaxNameBytes)},
          {"device", fault.device.substr(0, kMaxNameBytes)}};
}

FaultRecord fault_from_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kFaultLogCode);
  return {.type = named_value(fields, "type", kFaultTypes),
          .action = named_value(fields, "action", kFaultActions),
          .stream = fields.string("stream"),
          .chunk = fields.integer("chunk", -1, kMaxInteger),
          .rows = rows_from(fields, "rows"),
          .code = fields.string("code"),
          .message = fields.string("message"),
          .config_path = fields.string("config"),
          .model_path = fields.string("model"),
          .dtype = fields.string("dtype"),
          .device = fields.string("device"),
          .time = fields.integer("time", 0, kMaxInteger)};
}

}  // namespace

bool is_notice(FaultType type) {
  return type == FaultType::kRunStarted || type == FaultType::kRestart ||
         type == FaultType::kRecycled;
}

FaultLog::FaultLog(const std::string& path, std::function<void(const std::string&)> on_problem)
    : file_(path, fault_records(), std::move(on_problem)) {}

void FaultLog::add(const FaultRecord& fault) { file_.add(to_json(fault)); }

Records read_fault_records(const std::string& path) { return read_records(path, fault_records()); }

FaultHistory read_faults(const std::string& path) {
  return fault_history(read_fault_records(path), path);
}

FaultHistory fault_history(Records records, const std::string& path) {
  FaultHistory history;
  history.dropped = records.dropped;
  history.problems = std::move(records.problems);
  int64_t unusable = 0;
  std::string first_reason;
  for (const Json& line : records.lines) {
    try {
      history.records.push_back(fault_from_json(line, path));
    } catch (const Error& error) {
      if (unusable++ == 0) first_reason = error.detail().what;
    }
  }
  if (unusable > 0) {
    history.problems.push_back(fmt::format(
        "{}: {} left out; the first: {}", path,
        format_count(unusable, "record of another form is", "records of another form are"),
        first_reason));
  }
  return history;
}

std::vector<FaultSummary> summarize(const std::vector<FaultRecord>& records) {
  std::map<std::pair<FaultType, std::string>, FaultSummary> by_cause;
  for (const FaultRecord& fault : records) {
    if (is_notice(fault.type)) continue;
    FaultSummary& summary = by_cause[{fault.type, fault.code}];
    summary.type = fault.type;
    summary.code = fault.code;
    ++summary.count;
    summary.last = fault;
  }
  std::vector<FaultSummary> summaries;
  for (auto& [cause, summary] : by_cause) summaries.push_back(std::move(summary));
  std::stable_sort(summaries.begin(), summaries.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return summaries;
}

std::optional<FaultRecord> last_fault(const std::vector<FaultRecord>& records) {
  std::optional<FaultRecord> last;
  for (const FaultRecord& fault : records) {
    if (fault.type == FaultType::kRunStarted) last.reset();
    if (!is_notice(fault.type)) last = fault;
  }
  return last;
}

}  // namespace encode
