#include "report/run_record.h"

#include <algorithm>

#include "base/names.h"
#include "supervisor/report/stage_report.h"

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

Json timeline_json(const RunStatus& status) {
  Json points = Json::array();
  const size_t count = std::min(status.memory.size(), kTimelinePoints);
  for (size_t i = 0; i < count; ++i) {
    const MemorySample& sample =
        status.memory[count == 1 ? 0 : i * (status.memory.size() - 1) / (count - 1)];
    points.push_back({{"time", sample.time},
                      {"tokens_per_second", sample.tokens_per_second},
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
                      {"rows", {fault.last.rows.begin, fault.last.rows.end}},
                      {"message", fault.last.message}});
  }
  return faults;
}

}  // namespace encode
