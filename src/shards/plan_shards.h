// `encode shards plan`: scans the inputs of an experiment once and divides them into shards.
#pragma once

#include <cstdint>
#include <string>

#include "encode/config.h"

#include "run_plan/shard_plan.h"
#include "run_record/terminal.h"

namespace encode {

// Throws Error kConfig "shards.config" if the experiment cannot be divided, as far as its config
// shows this.
void require_divisible(const RunConfig& config);

struct NewShards {
  int64_t count = 0;
  std::string gpu = {};  // see choose_shard_chunks()
};

// Copies ShardedStream::chunk_rows from an earlier plan of the same streams.
void keep_chunk_rows(const ShardPlan& earlier, ShardPlan& plan);

// Writes the plan into the cache directory of the config. If the directory has a plan of the same
// rows, writes its files anew: the plan may then have other settings that change no vector, such as
// `quarantine`, and the shards must be run again with these. Throws Error: kConfig "shards.config"
// if the experiment cannot be divided, kConfig "shards.foreign" if the directory has a plan of
// other rows, kTempFail "store.locked" if a run is using the directory, and what make_plan()
// throws.
void plan_shards(const RunConfig& config, const NewShards& shards, Terminal& err, Terminal& out);

struct ExtendedPlan {
  int64_t shards = 0;
  int64_t kept = 0;  // shards whose parts count in the new plan
};

// Replaces the plan in the cache directory by one for the present inputs, see extend(). A part
// stays the part of its shard if the shard has the same rows in both plans. Throws what
// plan_shards() throws, and Error "shards.missing" if there is no plan.
ExtendedPlan extend_shards(const RunConfig& config, Terminal& err, Terminal& out);

}  // namespace encode
