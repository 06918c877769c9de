// Numbers of shards and the commands for them, in the words of people. Any thread may call these
// functions. They throw no Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace encode {

// Returns ascending numbers as ranges, in the form that `sbatch --array` takes: "0-3,7,9-12".
std::string ranges_of_shards(const std::vector<int64_t>& shards);

// Return the command that encodes a shard of `shards` shards, or that merges them.
// `config_path` is the config; "": other flags describe the experiment.
std::string shard_command(const std::string& config_path, int64_t shard, int64_t shards);
std::string merge_command(const std::string& config_path);

}  // namespace encode
