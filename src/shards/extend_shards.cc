// `encode shards plan --extend`.
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "encode/error.h"

#include "base/stop_signal.h"
#include "base/units.h"
#include "run_plan/final_table.h"
#include "run_plan/plan_steps.h"
#include "run_plan/shard_plan.h"
#include "run_plan/shard_settings.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"
#include "shards/part.h"
#include "shards/plan_shards.h"
#include "shards/work_lock.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

// Throws if the earlier plan is of other streams, models or options.
void require_same_experiment(const RunConfig& config, const ShardPlan& earlier,
                             const std::vector<StreamPlan>& streams) {
  const auto refuse = [&](std::string what, std::string expected, std::string found) {
    return Error({.code = "shards.foreign",
                  .what = std::move(what),
                  .where = ShardFiles(config.store.cache_dir).plan(),
                  .expected = std::move(expected),
                  .found = std::move(found),
                  .hint = "give the config and the flags of the plan; only the inputs may differ"});
  };
  std::map<std::string, std::string> settings = settings_of_shards(config);
  for (const auto& [name, value] : earlier.settings) {
    const auto own = settings.find(name);
    if (own == settings.end() || (own->second != value && !name.ends_with(": input")))
      throw refuse("the plan of the shards was made with other settings",
                   fmt::format("{} '{}'", name, preview(value)),
                   own == settings.end() ? "no such setting" : preview(own->second));
  }
  if (earlier.streams.size() != streams.size())
    throw refuse("the plan has another number of streams",
                 format_count(std::ssize(earlier.streams), "stream", "streams"),
                 format_count(std::ssize(streams), "stream", "streams"));
  for (size_t i = 0; i < streams.size(); ++i) {
    const StreamIdentity& planned = earlier.streams[i].identity;
    const StreamIdentity& now = streams[i].identity;
    if (planned.name != now.name || planned.dim != now.dim ||
        with_rows(planned.fingerprint, "") != with_rows(now.fingerprint, ""))
      throw refuse(first_difference(planned, now), "the model and the options of the plan",
                   describe_differences(planned, now));
  }
}

bool has_same_rows(const ShardPlan& earlier, const ShardPlan& plan, int64_t shard) {
  for (size_t i = 0; i < plan.streams.size(); ++i) {
    const ShardRows& before = earlier.streams[i].shards[static_cast<size_t>(shard)];
    const ShardRows& now = plan.streams[i].shards[static_cast<size_t>(shard)];
    if (!now.same_rows(before) || now.columns != before.columns) return false;
  }
  return true;
}

// Writes the records of the parts for the new plan, which is not published yet. If this is
// interrupted, some records are of the new plan already, and the next try keeps them.
int64_t keep_parts(const RunConfig& config, const ShardPlan& earlier, const ShardPlan& plan) {
  int64_t kept = 0;
  Shard shard{.plan = plan};
  for (; shard.index < earlier.shards; ++shard.index) {
    if (!has_same_rows(earlier, plan, shard.index)) continue;
    std::optional<Part> part = find_part(config, plan, shard.index);
    if (!part) {
      part = find_part(config, earlier, shard.index);
      if (part) publish_part(config, shard, part->attempt);
    }
    if (part) ++kept;
  }
  return kept;
}

ExtendedPlan write_extended(const RunConfig& config, RunLog& log) {
  require_divisible(config);
  const std::string& cache_dir = config.store.cache_dir;
  const CacheLock lock = lock_plan(cache_dir, log);
  check_log(config);
  log.open_file(log_path(config));
  const ShardPlan earlier = read_shard_plan(cache_dir);
  RunPlan run = make_plan(config, PlanPurpose::kDivide, log);
  for (StreamPlan& stream : run.streams) stream.field_blocks = hash_columns(config.store, stream);
  require_same_experiment(config, earlier, run.streams);
  ShardPlan plan = extend(earlier, run.streams);
  plan.settings = settings_of_shards(config);
  keep_chunk_rows(earlier, plan);
  plan.checksum = checksum_of(plan);
  const int64_t kept = keep_parts(config, earlier, plan);
  write_shard_plan(cache_dir, plan, run.streams);
  for (const ShardedStream& stream : plan.streams)
    log.info("shards_extended",
             fmt::format("{}: {} in {}; {} need no encoding", stream.identity.name,
                         format_count(stream.identity.rows, "row", "rows"),
                         format_count(plan.shards, "shard", "shards"), format_count(kept)),
             {{"stream", stream.identity.name},
              {"rows", stream.identity.rows},
              {"shards", plan.shards},
              {"kept", kept}});
  return {.shards = plan.shards, .kept = kept};
}

}  // namespace

ExtendedPlan extend_shards(const RunConfig& config, Terminal& err, Terminal& out) {
  end_at_once_if_asked_for_restart();
  RunLog log(config.log, err, out);
  return logging_errors(log, [&] { return write_extended(config, log); });
}

}  // namespace encode
