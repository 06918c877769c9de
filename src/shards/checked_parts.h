// The parts of all shards, found and checked, for `encode merge`. Any thread may call these
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"

#include "run_plan/shard_plan.h"
#include "shards/part.h"
#include "shards/quantized_parts.h"

namespace encode {

// The parts of all shards, by shard.
using Parts = std::vector<Part>;

// A matrix of all shards.
struct WholeMatrix {
  std::string name;
  std::string path;  // where an undivided run has it: "x.npy"
};

// Returns the matrices of an experiment: the streams in the order of the plan, then the combined
// matrices.
std::vector<WholeMatrix> whole_matrices(const RunConfig& config);

// Returns the plan, which must have the settings of the config. Throws what read_shard_plan() and
// require_plan_of() throw.
ShardPlan read_plan_of(const RunConfig& config);
std::vector<int64_t> dims_of(const ShardPlan& plan);  // of the streams

// Throws Error kNoInput "shards.missing" if parts are missing, with the command that makes them,
// and what find_part() throws.
Parts find_parts(const RunConfig& config, const ShardPlan& plan);

// Compares every part with the plan and with its own hash, several at a time. If `ranges` is not
// null, the matrices must be float32, and `ranges` gets the ranges of their rows. Throws Error
// kData "store.damaged" for a damaged part, whose shard then counts as not encoded.
void check_parts(const RunConfig& config, const ShardPlan& plan, const Parts& parts,
                 RangesOfParts* ranges);

// Throws Error kConfig "shards.foreign" if the parts were computed on devices of different kinds.
void require_one_device(const Parts& parts);

}  // namespace encode
