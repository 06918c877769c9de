// Times the matrix products of a model, for `encode bench`.
#pragma once

#include "job/worker_context.h"

namespace encode {

// Loads the model of the job's first unit and runs it once over a few of the unit's batches, to
// record the shapes of its matrix products. Then times only these products. Writes no embeddings.
// Sends ModelLoaded, then UnitStarted for every unit of the job, then ProductsTimed. Returns false
// if the worker was asked to stop. Throws Error and c10::Error.
bool time_products(const WorkerContext& context);

}  // namespace encode
