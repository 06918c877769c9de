// `encode run --shard I`: one attempt to encode a shard.
#pragma once

#include <cstdint>

#include "encode/config.h"

#include "supervisor/run.h"

namespace encode {

// Encodes the rows of a shard that no earlier attempt has committed, and publishes its part. Does
// nothing if the part is there. Changes no file of another attempt, so any number of attempts may
// run at once; the last one that finishes gives the part. Throws Error "shards.missing",
// "shards.number" and "shards.foreign", kTempFail "store.locked" if another attempt at the shard is
// known to run, and what run_experiment() throws.
RunEnd run_shard(const RunConfig& config, int64_t index, RunEnvironment environment, Terminal& err,
                 Terminal& out);

}  // namespace encode
