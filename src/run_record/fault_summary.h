// Counts the faults of the records by cause, for `encode status`. Any thread may call these
// functions. They throw no Error.
#pragma once

#include <optional>
#include <vector>

#include "run_record/fault_log.h"

namespace encode {

// The faults with the same type and code.
struct FaultSummary {
  FaultType type = FaultType::kError;
  std::string code;
  int64_t count = 0;
  FaultRecord last;
};

// Returns the faults of all runs, the most frequent first.
std::vector<FaultSummary> summarize(const std::vector<FaultRecord>& records);

// Returns the last fault of the last run; nullopt if it had none. `records` are oldest first.
std::optional<FaultRecord> last_fault(const std::vector<FaultRecord>& records);

}  // namespace encode
