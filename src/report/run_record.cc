#include "report/run_record.h"

#include <algorithm>
#include <vector>

#include "base/json_values.h"
#include "run_record/stage_report.h"

namespace encode {

Json run_json(const RunStatus& status) {
  return {
      {"state", status.state},
      {"started", status.started},
      {"reported", status.written},
      {"restarts", status.restarts},
      {"cache_dir", status.cache_dir},
      {"config", status.config_path},
      {"next", status.advice},
      {"stages", to_json(status.stages)},
      {"error",
       {{"code", status.error_code}, {"what", status.error_what}, {"where", status.error_where}}}};
}

namespace {

double seconds_of(const MemorySample& sample) {
  return static_cast<double>(sample.time) + static_cast<double>(sample.milliseconds) / 1000;
}

// Returns for each sample the tokens per second since the last sample with fewer tokens; null: not
// known. The first sample of a run gets the rate of the second one, so that the chart has a line
// between them. Samples of older versions have only the rate that they state.
std::vector<Json> rates_of(const std::vector<MemorySample>& samples) {
  std::vector<Json> rates(samples.size());
  size_t since = 0;  // the sample that the next rate is measured from
  bool begun = false;
  for (size_t i = 0; i < samples.size(); ++i) {
    const MemorySample& sample = samples[i];
    if (sample.tokens < 0 && sample.tokens_per_second > 0) rates[i] = sample.tokens_per_second;
    if (sample.tokens < 0 || !begun || sample.tokens < samples[since].tokens) {
      begun = sample.tokens >= 0;
      since = i;
      continue;
    }
    const double seconds = seconds_of(sample) - seconds_of(samples[since]);
    if (sample.tokens == samples[since].tokens || seconds <= 0) continue;
    rates[i] = static_cast<double>(sample.tokens - samples[since].tokens) / seconds;
    if (rates[since].is_null()) rates[since] = rates[i];
    since = i;
  }
  return rates;
}

}  // namespace

Json timeline_json(const RunStatus& status) {
  Json points = Json::array();
  const std::vector<MemorySample> samples =
      evenly_spaced<MemorySample>(status.memory, kTimelinePoints);
  const std::vector<Json> rates = rates_of(samples);
  for (size_t i = 0; i < samples.size(); ++i) {
    const MemorySample& sample = samples[i];
    points.push_back({{"time", seconds_of(sample)},
                      {"tokens_per_second", rates[i]},
                      {"worker_bytes", sample.worker_bytes},
                      {"host_used_bytes",
                       std::max<int64_t>(0, sample.host_limit_bytes - sample.host_available_bytes)},
                      {"host_limit_bytes", sample.host_limit_bytes},
                      {"device_bytes", sample.device.reserved_bytes},
                      {"device_total_bytes", sample.device.total_bytes},
                      {"stages", to_json(sample.stages)}});
  }
  return points;
}

Json faults_json(const RunStatus& status) {
  Json faults = Json::array();
  for (const FaultSummary& fault : status.faults) {
    faults.push_back({{"type", name_of(kFaultTypes, fault.type)},
                      {"code", fault.code},
                      {"count", fault.count},
                      {"time", fault.last.time},
                      {"action", name_of(kFaultActions, fault.last.action)},
                      {"stream", fault.last.stream},
                      {"rows", rows_json(fault.last.rows)},
                      {"message", fault.last.message}});
  }
  return faults;
}

}  // namespace encode
