#include "run_record/fault_summary.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace encode {

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
