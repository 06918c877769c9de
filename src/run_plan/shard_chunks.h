// Chooses the number of rows in the chunks of shards when they are planned. The machine that plans
// need not have the devices that encode.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"

#include "run_plan/plan.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_log.h"

namespace encode {

// The device that encodes the shards.
struct ShardDevice {
  const RunConfig& config;  // asks for a device
  const std::string& gpu;  // a name in the table of cards, which counts more than the config, or ""
};

// Sets ShardedStream::chunk_rows of all streams, if the config gives no number, and logs it.
// `streams` are those that divide() got. The size is for a shard on this device. A GPU that this
// machine does not have and that is not named counts as an unknown one. Throws Error kUsage
// "plan.card" for a card that is not in the table, and what open_model_directory() and
// ChunkSizes::choose() throw.
void choose_shard_chunks(const ShardDevice& device, const std::vector<StreamPlan>& streams,
                         ShardPlan& plan, RunLog& log);

}  // namespace encode
