#include "shards/run_shard.h"

#include <fmt/format.h>
#include <memory>
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
#include "shards/part_columns.h"
#include "shards/server_lost.h"
#include "shards/work_lock.h"

namespace encode {
namespace {

// Saves the work of a second attempt where the file system has locks. Where it has none, the
// attempts work side by side.
std::unique_ptr<const CacheLock> lock_shard(const std::string& folder) {
  return lock_work(folder, [](ErrorDetail& detail) {
    detail.what = "another attempt at this shard is at work";
    detail.expected = "no other attempt";
    detail.hint = fmt::format(
        "run the same command again when that attempt has ended; if its machine is lost, delete "
        "{}: attempts do no harm to each other",
        detail.where);
  });
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
  for (const std::string& attempt : attempts) {
    const RunConfig own = config_of_attempt(config, shard.index, attempt);
    // A combined matrix is made anew, which is cheap. So are columns of the input, because a
    // manifest does not say which values they have.
    if (!own.combine.empty() || has_input_columns(own.store.final_format)) return "";
    bool complete = true;
    for (size_t i = 0; i < own.streams.size(); ++i)
      complete =
          complete && has_finished(own, own.streams[i].name(), shard.plan.identity(i, shard.index));
    if (complete) return attempt;
  }
  return "";
}

// Deletes the chunks of an attempt whose part is published, except those with rows that were set
// aside: another policy, or another try, needs them.
void remove_chunks_of(const RunConfig& own, bool keep) {
  if (keep) return;
  const CacheLock lock = CacheLock::acquire(own.store.cache_dir, CacheLock::Need::kIfPossible);
  for (const StreamConfig& stream : own.streams) {
    const std::optional<Manifest> manifest = read_manifest(final_path_of(own, stream.name()));
    if (manifest && !manifest->set_aside) remove_chunks(own.store.cache_dir, stream.name());
  }
}

// What a run of a shard begins with.
struct BegunShard {
  Shard shard = {};
  std::string done_by = {};  // the attempt that has published the part; "": it must be encoded
  std::unique_ptr<const CacheLock> lock = {};  // null if the file system has no locks
  std::string attempt = {};                    // the new one
};

class ShardRun {
 public:
  ShardRun(const ShardOfRun& run, RunLog& log)
      : config_(run.experiment), index_(run.index), shards_(run.shards), log_(log) {}

  // `again` is true if the shard must be encoded although its part is there.
  BegunShard begin(bool again) const;

 private:
  void prepare(bool again, BegunShard& begun) const;
  std::vector<std::string> earlier_attempts(const ShardFiles& files, const Shard& shard) const;
  void say_done(const BegunShard& begun) const {
    log_.info("shard_done",
              fmt::format("shard {} of {} is already encoded, by {}", index_,
                          format_count(begun.shard.plan.shards), begun.done_by),
              {{"shard", index_}, {"attempt", begun.done_by}});
  }

  const RunConfig& config_;
  const int64_t index_;
  const std::optional<int64_t> shards_;
  RunLog& log_;
};

std::vector<std::string> ShardRun::earlier_attempts(const ShardFiles& files,
                                                    const Shard& shard) const {
  const auto warn = [&](const std::string& attempt, const ErrorDetail& detail) {
    log_.warning("attempt_left_out",
                 fmt::format("{} cannot be read, so its chunks are encoded again: {} ({})", attempt,
                             detail.what, detail.where),
                 {{"shard", index_}, {"attempt", attempt}, {"where", detail.where}});
  };
  return readable_attempts(config_, shard, attempts_of(files, index_), warn);
}

BegunShard ShardRun::begin(bool again) const {
  BegunShard begun = {.shard = read_shard(config_.store.cache_dir, index_, shards_)};
  require_plan_of(config_, begun.shard.plan);
  try {
    prepare(again, begun);
  } catch (const Error& error) {
    ErrorDetail detail = error.detail();
    end_after_second_loss(config_, begun.shard, detail);
    throw Error(std::move(detail));
  }
  if (!begun.done_by.empty()) say_done(begun);
  return begun;
}

void ShardRun::prepare(bool again, BegunShard& begun) const {
  const ShardFiles files(config_.store.cache_dir);
  const std::optional<Part> part = find_part(config_, begun.shard.plan, index_);
  if (part && !again) {
    begun.done_by = part->attempt;
    return;
  }
  begun.lock = lock_shard(files.shard(index_));
  const std::vector<std::string> earlier = earlier_attempts(files, begun.shard);
  begun.done_by = again ? "" : finished_attempt(config_, begun.shard, earlier);
  if (!begun.done_by.empty()) return publish_part(config_, begun.shard, begun.done_by);
  begun.attempt = begin_attempt(files, index_);
  adopt_attempts(config_, begun.shard, earlier, begun.attempt);
}

}  // namespace

RunEnd run_shard(const ShardOfRun& run, RunEnvironment environment, Terminal& err, Terminal& out) {
  end_at_once_if_asked_for_restart();
  const RunConfig& config = run.experiment;
  const BegunShard begun = [&] {
    RunLog log(config.log, err, out);
    return logging_errors(log,
                          [&] { return ShardRun(run, log).begin(environment.retry_set_aside); });
  }();
  if (!begun.done_by.empty()) return {};
  environment.shard = &begun.shard;
  environment.amend_error = [&](ErrorDetail& detail) {
    end_after_second_loss(config, begun.shard, detail);
  };
  const RunConfig own = config_of_attempt(config, run.index, begun.attempt);
  RunEnd end = run_experiment(own, environment, err, out);
  if (end.stopped_by != 0) return end;
  publish_part(config, begun.shard, begun.attempt);
  forget_loss(config, run.index);
  remove_chunks_of(own, config.store.keep_chunk_cache);
  return end;
}

}  // namespace encode
