// Tries the defences of a worker against faults, for `encode preflight`. The functions must be
// called on the main thread.
#pragma once

#include "job/loaded_model.h"
#include "job/worker_context.h"

namespace encode {

// Tries each defence on the loaded model and sends DefenceTried for it:
//   "ids"        a token id that the model does not have is refused on the host
//   "positions"  a row that is too long is refused on the host
//   "vectors"    a vector that is not finite, or is all zeros, is recognised
//   "release"    the allocator's unused memory is released, and then the model encodes the same
//                bits as before
// Throws Error kData "vectors.all_bad" if the vector of a valid row is wrong, and what
// Encoder::encode() throws for a device that has failed.
void try_defences(const WorkerContext& context, LoadedModel& model);

// Runs a job with JobSpec::check_only. Returns false if the worker was asked to stop. Throws what
// ModelKeeper::model_of(), try_defences() and open_device() throw.
bool check_only(const WorkerContext& context, ModelKeeper& models);

}  // namespace encode
