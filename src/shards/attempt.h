// Attempts to encode a shard. Each run of a shard is an attempt of its own, with a cache directory
// that no other process writes to. So it does no harm if a scheduler starts a second run while the
// first one still works, and nothing depends on a lock or on a clock. Any thread may call these
// functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/error.h"

#include "run_plan/shard_plan.h"

namespace encode {

// Returns <cache>/shards/00007/<attempt>: the cache directory of an attempt.
std::string attempt_folder(const ShardFiles& files, int64_t shard, const std::string& attempt);

// Returns the names of the attempts at a shard ("attempt-0123456789abcdef"), sorted.
std::vector<std::string> attempts_of(const ShardFiles& files, int64_t shard);

// Returns those of these attempts of which everything can be read that a new attempt would read.
// Calls `left_out` with the name and the error of each other one: it may be the attempt of another
// user, and no attempt needs it.
std::vector<std::string> readable_attempts(
    const RunConfig& config, const Shard& shard, const std::vector<std::string>& attempts,
    const std::function<void(const std::string&, const ErrorDetail&)>& left_out);

// Creates the folder of a new attempt and returns its name, which is random. Throws Error
// kCantCreate, kNoPermission and kIoError.
std::string begin_attempt(const ShardFiles& files, int64_t shard);

// Returns the config of an attempt: its cache directory is <cache>/shards/00007/<attempt>, and an
// output x/y.npy becomes x/.parts/<attempt>/y.npy. Its chunks are kept. If quantizes_at_merge(),
// its matrices are float32, and it makes no combined ones.
RunConfig config_of_attempt(const RunConfig& config, int64_t shard, const std::string& attempt);

// Gives a new attempt the committed chunks of earlier ones, and what they learned about failures.
// It also gets the hashes of the model's files that the plan has found. Returns the number of
// chunks. Throws what adopt_chunks() throws.
int64_t adopt_attempts(const RunConfig& config, const Shard& shard,
                       const std::vector<std::string>& earlier, const std::string& attempt);

}  // namespace encode
