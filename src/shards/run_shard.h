// `encode run --shard I`: one attempt to encode a shard.
#pragma once

#include <cstdint>
#include <optional>

#include "encode/config.h"

#include "supervisor/run.h"

namespace encode {

struct ShardOfRun {
  const RunConfig& experiment;  // as for a run without shards
  int64_t index = 0;
  std::optional<int64_t> shards = {};  // how many the plan must have; nullopt: any number
};

// Encodes the rows of a shard that no earlier attempt has committed, and publishes its part. Does
// nothing if the part is there. Changes no file of another attempt, so any number of attempts may
// run at once; the last one that finishes gives the part. Throws Error "shards.missing",
// "shards.number" and "shards.foreign", kTempFail "store.locked" if another attempt at the shard is
// known to run, and what run_experiment() throws.
RunEnd run_shard(const ShardOfRun& run, RunEnvironment environment, Terminal& err, Terminal& out);

}  // namespace encode
