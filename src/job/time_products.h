// What JobSpec::product_seconds asks for.
#pragma once

#include <cstdint>

#include "job/worker_context.h"

namespace encode {

// Loads the unit's model, and times the matrix products of a few of its batches by themselves. It
// reports ModelLoaded and ProductsTimed, and encodes nothing. False when it was asked to stop.
bool time_products(const WorkerContext& context, int64_t unit);

}  // namespace encode
