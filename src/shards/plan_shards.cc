#include "shards/plan_shards.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/stop_signal.h"
#include "base/units.h"
#include "run_plan/final_table.h"
#include "run_plan/plan_steps.h"
#include "run_plan/shard_chunks.h"
#include "run_plan/shard_plan.h"
#include "run_plan/shard_settings.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"
#include "shards/join_shards.h"
#include "shards/work_lock.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

// Returns the plan that the directory has; nullopt if there is none. Throws if it is a plan of
// other rows, models or options than `plan`.
std::optional<ShardPlan> same_plan(const std::string& cache_dir, const ShardPlan& plan) {
  const std::string path = ShardFiles(cache_dir).plan();
  if (!entry_exists(path, "shards.missing")) return std::nullopt;
  ShardPlan found = read_shard_plan(cache_dir);
  const auto refuse = [&](std::string what, std::string expected, std::string other) {
    return Error({.code = "shards.foreign",
                  .what = std::move(what),
                  .where = path,
                  .expected = std::move(expected),
                  .found = std::move(other),
                  .hint = "plan in another cache directory; to give up this plan and its shards, "
                          "remove shards.json"});
  };
  if (found.shards != plan.shards || found.streams.size() != plan.streams.size())
    throw refuse("the cache directory has a plan with another number of shards or streams",
                 fmt::format("{} shards of {} streams", plan.shards, plan.streams.size()),
                 fmt::format("{} shards of {} streams", found.shards, found.streams.size()));
  const auto same_rows = [](const ShardRows& a, const ShardRows& b) { return a.same_rows(b); };
  for (size_t i = 0; i < plan.streams.size(); ++i) {
    const StreamIdentity& there = found.streams[i].identity;
    const StreamIdentity& wanted = plan.streams[i].identity;
    if (there.name != wanted.name || there.fingerprint != wanted.fingerprint ||
        !std::ranges::equal(found.streams[i].shards, plan.streams[i].shards, same_rows))
      throw refuse(first_difference(there, wanted) +
                       "; the plan in the cache directory is of another experiment",
                   "the plan of this experiment", describe_differences(there, wanted));
  }
  return found;
}

}  // namespace

void require_divisible(const RunConfig& config) {
  const StoreOptions& store = config.store;
  if (!store.chunked())
    throw Error({.code = "shards.config",
                 .what = "the standard mode cannot be divided into shards",
                 .where = "semantic",
                 .expected = "a run that writes chunks",
                 .found = "use_chunked_encoding: false, or save_chunks: false",
                 .hint = "remove these keys from the config"});
  // A merge reads the columns of a table row by row.
  const std::vector<TableColumn>& columns = store.final_format.columns;
  if (std::any_of(columns.begin(), columns.end(), is_place_column))
    throw Error({.code = "shards.config",
                 .what = "a table of passages cannot be divided into shards",
                 .where = "output.format",
                 .expected = "a .npy output, or semantic.passages.row_vector: mean",
                 .found = describe(store.final_format),
                 .hint = "write .npy files: the places of the passages are beside them"});
  for (const StreamConfig& stream : config.streams) {
    if (stream.input.is_standard_input())
      throw Error({.code = "shards.config",
                   .what = "standard input cannot be divided into shards",
                   .where = stream.name(),
                   .expected = "files that every machine can read",
                   .found = "standard input",
                   .hint = "write the texts to a file"});
  }
  if (store.parts == OutputParts::kOne) require_joinable(config);
}

namespace {

void write_plan(const RunConfig& config, const NewShards& shards, RunLog& log) {
  require_divisible(config);
  const std::string& cache_dir = config.store.cache_dir;
  const CacheLock lock = lock_plan(cache_dir, log);
  check_log(config);
  log.open_file(log_path(config));
  RunPlan run = make_plan(config, PlanPurpose::kDivide, log);
  for (StreamPlan& stream : run.streams) stream.field_blocks = hash_columns(config.store, stream);
  ShardPlan plan = divide(run.streams, shards.count);
  plan.settings = settings_of_shards(config);
  if (const std::optional<ShardPlan> earlier = same_plan(cache_dir, plan)) {
    // The parts name the plan by its checksum, so an equal plan must have the same bytes.
    keep_chunk_rows(*earlier, plan);
  } else {
    choose_shard_chunks({.config = config, .gpu = shards.gpu}, run.streams, plan, log);
  }
  write_shard_plan(cache_dir, plan, run.streams);
  for (const ShardedStream& stream : plan.streams) {
    log.info("shards_planned",
             fmt::format("{}: {} in {}", stream.identity.name,
                         format_count(stream.identity.rows, "row", "rows"),
                         format_count(plan.shards, "shard", "shards")),
             {{"stream", stream.identity.name},
              {"rows", stream.identity.rows},
              {"shards", plan.shards}});
  }
}

}  // namespace

void keep_chunk_rows(const ShardPlan& earlier, ShardPlan& plan) {
  for (size_t i = 0; i < plan.streams.size(); ++i)
    plan.streams[i].chunk_rows = earlier.streams[i].chunk_rows;
}

void plan_shards(const RunConfig& config, const NewShards& shards, Terminal& err, Terminal& out) {
  end_at_once_if_asked_for_restart();
  RunLog log(config.log, err, out);
  logging_errors(log, [&] { write_plan(config, shards, log); });
}

}  // namespace encode
