// What the planned settings and other ones cost.
#pragma once

#include <vector>

#include "plan/experiment_plan.h"

namespace encode {

// Half and twice of each setting of a planned stream, and the other 16- or 32-bit type.
std::vector<Price> prices_of(const PlannedStream& stream, const MemoryRoom& room);

}  // namespace encode
