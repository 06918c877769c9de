#include "shards/run_shard.h"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encode/error.h"
#include "encode/store.h"

#include "base/stop_signal.h"
#include "base/units.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"
#include "shards/attempt.h"
#include "shards/part.h"

namespace encode {
namespace {

// Saves the work of a second attempt where the file system has locks. Where it has none, the
// attempts work side by side.
std::optional<CacheLock> lock_shard(const std::string& folder) {
  try {
    return CacheLock::acquire(folder);
  } catch (const Error& error) {
    ErrorDetail detail = error.detail();
    if (detail.code == "store.lock") return std::nullopt;
    if (detail.code == "store.locked") {
      detail.what = "another attempt at this shard is at work";
      detail.expected = "no other attempt";
      detail.hint = fmt::format(
          "run the same command again when that attempt has ended; if its machine is lost, delete "
          "{}: attempts do no harm to each other",
          detail.where);
    }
    throw Error(std::move(detail));
  }
}

// Returns true if the attempt has finished this matrix in the format of the config.
bool has_finished(const RunConfig& own, const std::string& stream, const StreamIdentity& identity) {
  const std::string path = final_path_of(own, stream);
  if (final_state(path, identity, /*check_hash=*/true) != FinalState::kValid) return false;
  const Manifest manifest = read_manifest(path).value();
  return has_format(manifest, own.store.final_format) && manifest.fits(own.store.quarantine);
}

// Returns an earlier attempt that has finished its matrices and was ended before it published its
// part; "" if there is none.
std::string finished_attempt(const RunConfig& config, const Shard& shard,
                             const std::vector<std::string>& attempts) {
  if (!config.combine.empty()) return "";  // a combined matrix is made anew, which is cheap
  for (const std::string& attempt : attempts) {
    const RunConfig own = config_of_attempt(config, shard.index, attempt);
    bool complete = true;
    for (size_t i = 0; i < own.streams.size(); ++i)
      complete =
          complete && has_finished(own, own.streams[i].name(), shard.plan.identity(i, shard.index));
    if (complete) return attempt;
  }
  return "";
}

// Deletes the chunks of an attempt whose part is published, except those with quarantined rows:
// another policy, or another try, needs them.
void remove_chunks_of(const RunConfig& own, bool keep) {
  if (keep) return;
  const CacheLock lock = CacheLock::acquire(own.store.cache_dir);
  for (const StreamConfig& stream : own.streams) {
    const std::optional<Manifest> manifest = read_manifest(final_path_of(own, stream.name()));
    if (manifest && !manifest->set_aside) remove_chunks(own.store.cache_dir, stream.name());
  }
}

}  // namespace

RunEnd run_shard(const ShardOfRun& run, RunEnvironment environment, Terminal& err, Terminal& out) {
  end_at_once_if_asked_for_restart();
  const RunConfig& config = run.experiment;
  const bool again = environment.retry_set_aside;  // also if the part is there
  const Shard shard = read_shard(config.store.cache_dir, run.index);
  require_plan_of(config, shard.plan);
  const ShardFiles files(config.store.cache_dir);
  const auto say_done = [&](const std::string& attempt) {
    RunLog log(config.log, err, out);
    log.info("shard_done",
             fmt::format("shard {} of {} is already encoded, by {}", run.index,
                         format_count(shard.plan.shards), attempt),
             {{"shard", run.index}, {"attempt", attempt}});
  };
  const std::optional<Part> part = find_part(config, shard.plan, run.index);
  if (part && !again) {
    say_done(part->attempt);
    return {};
  }
  const std::optional<CacheLock> lock = lock_shard(files.shard(run.index));
  const std::vector<std::string> earlier = attempts_of(files, run.index);
  const std::string finished = again ? "" : finished_attempt(config, shard, earlier);
  if (!finished.empty()) {
    publish_part(config, shard, finished);
    say_done(finished);
    return {};
  }
  const std::string attempt = begin_attempt(files, run.index);
  adopt_attempts(config, shard, earlier, attempt);
  environment.shard = &shard;
  const RunConfig own = config_of_attempt(config, run.index, attempt);
  RunEnd end = run_experiment(own, environment, err, out);
  if (end.stopped_by != 0) return end;
  publish_part(config, shard, attempt);
  remove_chunks_of(own, config.store.keep_chunk_cache);
  return end;
}

}  // namespace encode
