// Computes what alternatives to the planned settings cost. Any thread may call it. Throws no Error.
#pragma once

#include <vector>

#include "plan/experiment_plan.h"

namespace encode {

// Returns the prices of half and of twice each setting of a planned stream, and of the other type
// (16 or 32 bits).
std::vector<Price> prices_of(const PlannedStream& stream, const MemoryRoom& room);

}  // namespace encode
