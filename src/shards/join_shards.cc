#include "shards/join_shards.h"

#include <fmt/format.h>
#include <string>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/output_types.h"
#include "base/units.h"
#include "run_plan/output_guard.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"
#include "shards/checked_parts.h"
#include "store/join_final.h"

namespace encode {
namespace {

void require_npy(const RunConfig& config) {
  const MatrixFormat format = config.store.final_format.file;
  if (format == MatrixFormat::kNpy) return;
  throw Error({.code = "shards.config",
               .what = "tables cannot be joined",
               .where = "--parts one",
               .expected = "matrices in .npy files",
               .found = std::string(to_string(format)),
               .hint = "merge without --parts one: other programs read a folder of tables"});
}

class Join {
 public:
  explicit Join(const RunConfig& config)
      : config_(config),
        plan_(read_plan_of(config)),
        parts_(find_parts(config, plan_)),
        matrices_(whole_matrices(config)) {}

  std::vector<MergedMatrix> run(RunLog& log);

 private:
  void join_all(const std::vector<Ranges>& ranges, RunLog& log);
  JoinedFinals parts_of(size_t matrix) const;
  void say_joined(const WholeMatrix& matrix, int64_t rows, RunLog& log);

  const RunConfig& config_;
  ShardPlan plan_;
  Parts parts_;
  std::vector<WholeMatrix> matrices_;
  std::vector<MergedMatrix> results_;
};

std::vector<MergedMatrix> Join::run(RunLog& log) {
  RangesOfParts ranges(dims_of(plan_));
  const bool quantizes = quantizes_at_merge(config_);
  // Otherwise the hashes are compared while the rows are copied.
  if (quantizes) check_parts(config_, plan_, parts_, &ranges);
  if (config_.hardware.strict_numerics) require_one_device(parts_);
  const OutputGuard guard(config_.store.overwrite);
  for (const WholeMatrix& matrix : matrices_) guard.check_final(matrix.path);
  try {
    join_all(ranges.all(), log);
  } catch (const Error& error) {
    // Says of which shard the part is, so that the shard is encoded again.
    if (error.exit_code() == ExitCode::kData) check_parts(config_, plan_, parts_, nullptr);
    throw;
  }
  return std::move(results_);
}

JoinedFinals Join::parts_of(size_t matrix) const {
  JoinedFinals joined;
  for (const Part& part : parts_) joined.parts.push_back(part.matrices[matrix].path);
  return joined;
}

void Join::join_all(const std::vector<Ranges>& ranges, RunLog& log) {
  const bool quantizes = quantizes_at_merge(config_);
  const size_t streams = plan_.streams.size();
  for (size_t i = 0; i < streams; ++i) {
    JoinedFinals joined = parts_of(i);
    joined.identity = plan_.streams[i].identity;
    if (quantizes) {
      convert_parts(joined, matrices_[i].path,
                    {.format = config_.store.final_format, .ranges = &ranges[i]});
    } else {
      join_finals(joined, matrices_[i].path);
    }
    say_joined(matrices_[i], joined.identity.rows, log);
  }
  for (size_t i = streams; i < matrices_.size(); ++i) {
    const auto& [name, path] = matrices_[i];
    std::vector<std::string> paths;
    for (const size_t stream : streams_of(config_, config_.combine[i - streams]))
      paths.push_back(matrices_[stream].path);
    const StreamIdentity identity = combined_identity(paths, name);
    if (quantizes) {
      combine_finals(paths, path, name);
    } else {
      JoinedFinals joined = parts_of(i);
      joined.identity = identity;
      join_finals(joined, path);
    }
    say_joined(matrices_[i], identity.rows, log);
  }
}

void Join::say_joined(const WholeMatrix& matrix, int64_t rows, RunLog& log) {
  const auto& [name, path] = matrix;
  results_.push_back({.name = name, .list = path, .parts = 1, .rows = rows});
  log.info("merged",
           fmt::format("{}: {} of {} in {}", name, format_count(rows, "row", "rows"),
                       format_count(plan_.shards, "shard", "shards"), path),
           {{"name", name}, {"rows", rows}, {"parts", 1}});
}

}  // namespace

std::vector<MergedMatrix> join_shards(const RunConfig& config, Terminal& err, Terminal& out) {
  RunLog log(config.log, err, out);
  return logging_errors(log, [&] {
    require_npy(config);
    const CacheLock lock = CacheLock::acquire(config.store.cache_dir);
    Join join(config);
    return join.run(log);
  });
}

}  // namespace encode
