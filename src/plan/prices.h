// What the planned settings and other ones cost.
#pragma once

#include <vector>

#include "plan/experiment_plan.h"

namespace encode {

// The time to encode a stream: its operations at the rate, and a fixed time for each batch. 0 if
// the rate is not known.
double stream_seconds(const MemoryRequest& request, const ComputeRate& rate);

// Half and twice of each setting of a planned stream, and the other 16- or 32-bit type.
std::vector<Price> prices_of(const PlannedStream& stream, const MemoryRoom& room);

}  // namespace encode
