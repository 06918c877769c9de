#include "shards/run_shard.h"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/units.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"
#include "shards/attempt.h"
#include "shards/part.h"

namespace encode {
namespace {

// Warns of a second attempt where the file system has locks. Where it has none, the attempts work
// side by side, which costs only time.
std::optional<CacheLock> lock_shard(const std::string& folder) {
  try {
    return CacheLock::acquire(folder);
  } catch (const Error& error) {
    if (error.detail().code != "store.lock") throw;
    return std::nullopt;
  }
}

// Returns an earlier attempt that has finished its matrices and was ended before it published its
// part; "" if there is none.
std::string finished_attempt(const RunConfig& config, const Shard& shard,
                             const std::vector<std::string>& attempts) {
  for (const std::string& attempt : attempts) {
    const RunConfig own = config_of_attempt(config, shard.index, attempt);
    bool complete = own.combine.empty();  // a combined matrix is made anew, which is cheap
    for (size_t i = 0; i < own.streams.size(); ++i) {
      const std::string path = final_path_of(own, own.streams[i].name());
      complete = complete && final_state(path, shard.plan.identity(i, shard.index),
                                         /*check_hash=*/true) == FinalState::kValid;
    }
    if (complete) return attempt;
  }
  return "";
}

}  // namespace

RunEnd run_shard(const RunConfig& config, int64_t index, RunEnvironment environment, Terminal& err,
                 Terminal& out) {
  const Shard shard = read_shard(config.store.cache_dir, index);
  const ShardFiles files(config.store.cache_dir);
  if (const std::optional<Part> part = find_part(config, shard.plan, index)) {
    RunLog(config.log, err, out)
        .info("shard_done",
              fmt::format("shard {} of {} is already encoded, by {}", index,
                          format_count(shard.plan.shards), part->attempt),
              {{"shard", index}, {"attempt", part->attempt}});
    return {};
  }
  const std::optional<CacheLock> lock = lock_shard(files.shard(index));
  const std::vector<std::string> earlier = attempts_of(files, index);
  if (const std::string attempt = finished_attempt(config, shard, earlier); !attempt.empty()) {
    publish_part(config, shard, attempt);
    return {};
  }
  const std::string attempt = begin_attempt(files, index);
  adopt_attempts(config, shard, earlier, attempt);
  environment.shard = &shard;
  RunEnd end = run_experiment(config_of_attempt(config, index, attempt), environment, err, out);
  if (end.stopped_by == 0) publish_part(config, shard, attempt);
  return end;
}

}  // namespace encode
