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
#include "shards/merged_files.h"
#include "shards/work_lock.h"
#include "store/join_final.h"

namespace encode {

void require_joinable(const RunConfig& config) {
  const MatrixFormat format = config.store.final_format.file;
  if (format == MatrixFormat::kNpy) return;
  throw Error({.code = "shards.config",
               .what = "tables cannot be joined",
               .where = "output.parts",
               .expected = "matrices in .npy files",
               .found = std::string(to_string(format)),
               .hint = "give --parts many or output.parts: many: other programs read a folder of "
                       "tables"});
}

namespace {

class Join {
 public:
  explicit Join(const RunConfig& config)
      : config_(config),
        plan_(read_plan_of(config)),
        parts_(find_parts(config, plan_)),
        matrices_(whole_matrices(config)) {}

  std::vector<MergedMatrix> run(RunLog& log);
  bool is_published() const;

 private:
  void join_all(const std::vector<Ranges>& ranges, RunLog& log);
  void join_stream(size_t stream, const Ranges& ranges) const;
  void join_combined(size_t matrix, const StreamIdentity& identity) const;
  bool has_stream(size_t stream, bool check_hash) const;
  bool has_combined(size_t matrix, bool check_hash) const;
  JoinedFinals parts_of(size_t matrix) const;
  std::string made_from(size_t stream) const;
  std::vector<std::string> streams_in(size_t matrix) const;
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

// The paths of the streams of a combined matrix.
std::vector<std::string> Join::streams_in(size_t matrix) const {
  std::vector<std::string> paths;
  for (const size_t stream : streams_of(config_, config_.combine[matrix - plan_.streams.size()]))
    paths.push_back(matrices_[stream].path);
  return paths;
}

std::string Join::made_from(size_t stream) const {
  std::vector<std::string> hashes;
  for (const Part& part : parts_) hashes.push_back(part.matrices[stream].seal.xxh3_128);
  return hash_of_parts(hashes);
}

bool Join::has_stream(size_t stream, bool check_hash) const {
  const std::string& path = matrices_[stream].path;
  if (final_state(path, plan_.streams[stream].identity, check_hash) != FinalState::kValid)
    return false;
  const Manifest manifest = read_manifest(path).value();
  return manifest.made_from == made_from(stream) &&
         has_format(manifest, config_.store.final_format);
}

// The fingerprint of a combined matrix has the hashes of its streams.
bool Join::has_combined(size_t matrix, bool check_hash) const {
  const auto& [name, path] = matrices_[matrix];
  return final_state(path, combined_identity(streams_in(matrix), name), check_hash) ==
         FinalState::kValid;
}

bool Join::is_published() const {
  for (size_t i = 0; i < matrices_.size(); ++i) {
    const bool there = i < plan_.streams.size() ? has_stream(i, /*check_hash=*/false)
                                                : has_combined(i, /*check_hash=*/false);
    if (!there) return false;
  }
  return true;
}

void Join::join_stream(size_t stream, const Ranges& ranges) const {
  JoinedFinals joined = parts_of(stream);
  joined.identity = plan_.streams[stream].identity;
  joined.made_from = made_from(stream);
  const std::string& path = matrices_[stream].path;
  if (!quantizes_at_merge(config_)) return join_finals(joined, path);
  convert_parts(joined, path, {.format = config_.store.final_format, .ranges = &ranges});
}

void Join::join_combined(size_t matrix, const StreamIdentity& identity) const {
  const auto& [name, path] = matrices_[matrix];
  if (quantizes_at_merge(config_)) return combine_finals(streams_in(matrix), path, name);
  JoinedFinals joined = parts_of(matrix);
  joined.identity = identity;
  join_finals(joined, path);
}

void Join::join_all(const std::vector<Ranges>& ranges, RunLog& log) {
  for (size_t i = 0; i < plan_.streams.size(); ++i) {
    if (!has_stream(i, /*check_hash=*/true)) join_stream(i, ranges[i]);
    say_joined(matrices_[i], plan_.streams[i].identity.rows, log);
  }
  for (size_t i = plan_.streams.size(); i < matrices_.size(); ++i) {
    const StreamIdentity identity = combined_identity(streams_in(i), matrices_[i].name);
    if (!has_combined(i, /*check_hash=*/true)) join_combined(i, identity);
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
    require_joinable(config);
    const CacheLock lock = lock_plan(config.store.cache_dir, log);
    Join join(config);
    return join.run(log);
  });
}

bool is_joined(const RunConfig& config) { return Join(config).is_published(); }

}  // namespace encode
