// What follows from the members of a plan for a device.
#include <algorithm>
#include <cstdint>

#include "plan/experiment_plan.h"

namespace encode {

double PlannedStream::lost_seconds() const {
  const auto rows = static_cast<double>(std::max<int64_t>(1, request.texts.rows));
  return time.seconds / rows * static_cast<double>(lost_rows);
}

bool DevicePlan::chunks_known() const {
  return std::all_of(streams.begin(), streams.end(),
                     [](const PlannedStream& stream) { return stream.chunks_known; });
}

const PlannedStream& DevicePlan::largest() const {
  return *std::max_element(streams.begin(), streams.end(),
                           [](const PlannedStream& a, const PlannedStream& b) {
                             return a.planned.memory.total_bytes() < b.planned.memory.total_bytes();
                           });
}

}  // namespace encode
