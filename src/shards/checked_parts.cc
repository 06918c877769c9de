#include "shards/checked_parts.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/host.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "run_record/run_paths.h"
#include "shards/shard_words.h"
#include "store/convert_part.h"

namespace encode {
namespace {

Error missing_parts(const RunConfig& config, const ShardPlan& plan,
                    const std::vector<int64_t>& missing) {
  constexpr size_t kMostNamed = 20;
  std::vector<std::string> named;
  for (size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i)
    named.push_back(fmt::to_string(missing[i]));
  if (missing.size() > kMostNamed) named.emplace_back("...");
  return Error(
      {.code = "shards.missing",
       .what = fmt::format("{} not encoded yet",
                           format_count(std::ssize(missing), "shard is", "shards are")),
       .where = config.store.cache_dir,
       .expected = fmt::format("the parts of {}", format_count(plan.shards, "shard", "shards")),
       .found = fmt::format("no part of {}", fmt::join(named, ", ")),
       .hint =
           "run each of them: " + shard_command(config.config_path, missing.front(), plan.shards)});
}

std::string in_words(FinalState state) {
  if (state == FinalState::kAbsent) return "no file";
  return state == FinalState::kForeign ? "a matrix of other rows"
                                       : "a file that does not fit its manifest";
}

class PartChecks {
 public:
  PartChecks(const RunConfig& config, const ShardPlan& plan, const Parts& parts)
      : config_(config), plan_(plan), parts_(parts) {}

  // Returns the ranges of the matrices if `with_ranges`, else none.
  std::vector<Ranges> check(int64_t shard, bool with_ranges) const;

 private:
  StreamIdentity identity_of(int64_t shard, size_t matrix) const;
  Error refuse(int64_t shard, const PartMatrix& matrix, FinalState state) const;
  const Part& part(int64_t shard) const { return parts_[static_cast<size_t>(shard)]; }

  const RunConfig& config_;
  const ShardPlan& plan_;
  const Parts& parts_;
};

StreamIdentity PartChecks::identity_of(int64_t shard, size_t matrix) const {
  const size_t streams = plan_.streams.size();
  if (matrix < streams) return plan_.identity(matrix, shard);
  std::vector<std::string> paths;
  for (const size_t stream : streams_of(config_, config_.combine[matrix - streams]))
    paths.push_back(part(shard).matrices[stream].path);
  return combined_identity(paths, part(shard).matrices[matrix].name);
}

// If the matrix is damaged, deletes the record of the part, so that the next run of its shard
// encodes the shard again.
Error PartChecks::refuse(int64_t shard, const PartMatrix& matrix, FinalState state) const {
  const std::optional<Part> named = find_part(config_, plan_, shard);
  if (named && named->attempt == part(shard).attempt && state != FinalState::kForeign)
    remove_file(ShardFiles(config_.store.cache_dir).part(shard));
  return Error({.code = "store.damaged",
                .what = fmt::format("a part of shard {} is damaged", shard),
                .where = matrix.path,
                .expected = "the matrix that its attempt has published",
                .found = in_words(state),
                .hint = "encode the shard again: " +
                        shard_command(config_.config_path, shard, plan_.shards)});
}

std::vector<Ranges> PartChecks::check(int64_t shard, bool with_ranges) const {
  std::vector<Ranges> ranges;
  for (size_t i = 0; i < part(shard).matrices.size(); ++i) {
    const PartMatrix& matrix = part(shard).matrices[i];
    // ranges_of_rows() compares the hash, too.
    FinalState state = final_state(matrix.path, identity_of(shard, i), !with_ranges);
    try {
      if (state == FinalState::kValid && with_ranges) ranges.push_back(ranges_of_rows(matrix.path));
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::kData) throw;
      state = FinalState::kDamaged;
    }
    if (state != FinalState::kValid) throw refuse(shard, matrix, state);
  }
  return ranges;
}

}  // namespace

std::vector<WholeMatrix> whole_matrices(const RunConfig& config) {
  std::vector<WholeMatrix> matrices;
  for (const StreamConfig& stream : config.streams)
    matrices.push_back({.name = stream.name(), .path = final_path_of(config, stream.name())});
  for (const CombineConfig& combine : config.combine) {
    const std::string name = combined_name(combine);
    matrices.push_back({.name = name, .path = final_path(config.store.cache_dir, name)});
  }
  return matrices;
}

ShardPlan read_plan_of(const RunConfig& config) {
  ShardPlan plan = read_shard_plan(config.store.cache_dir);
  require_plan_of(config, plan);
  return plan;
}

std::vector<int64_t> dims_of(const ShardPlan& plan) {
  std::vector<int64_t> dims;
  for (const ShardedStream& stream : plan.streams) dims.push_back(stream.identity.dim);
  return dims;
}

Parts find_parts(const RunConfig& config, const ShardPlan& plan) {
  Parts parts;
  std::vector<int64_t> missing;
  for (int64_t shard = 0; shard < plan.shards; ++shard) {
    if (std::optional<Part> part = find_part(config, plan, shard)) {
      parts.push_back(std::move(*part));
    } else {
      missing.push_back(shard);
    }
  }
  if (!missing.empty()) throw missing_parts(config, plan, missing);
  return parts;
}

void check_parts(const RunConfig& config, const ShardPlan& plan, const Parts& parts,
                 RangesOfParts* ranges) {
  const PartChecks checks(config, plan, parts);
  share_calls(plan.shards, cpu_quota(), [&](int64_t shard) {
    std::vector<Ranges> found = checks.check(shard, ranges != nullptr);
    if (ranges != nullptr) ranges->add(shard, std::move(found));
  });
}

void require_one_device(const Parts& parts) {
  std::optional<ChunkOrigin> first;
  const auto check = [&](const PartMatrix& matrix, const ChunkOrigin& origin) {
    if (!first) first = origin;
    if (origin.same_bits(*first)) return;
    throw Error({.code = "shards.foreign",
                 .what = "the shards were encoded on devices of different kinds",
                 .where = matrix.path,
                 .expected = "one kind of device, because strict_numerics is set",
                 .found = fmt::format("{} and {}", first->device, origin.device),
                 .hint = "encode the shards again on one kind of device, or merge without "
                         "strict_numerics: the last bits of the vectors then differ by shard"});
  };
  for (const Part& part : parts) {
    for (const PartMatrix& matrix : part.matrices) {
      const Manifest manifest = read_manifest(matrix.path).value();
      for (const ChunkOrigin& origin : manifest.origins) check(matrix, origin);
    }
  }
}

}  // namespace encode
