#include "shards/merge.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/host.h"
#include "base/json.h"
#include "base/shell_quote.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "run_plan/output_guard.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"
#include "shards/part.h"
#include "store/link_final.h"
#include "store/parts_list.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// The parts of all shards, each by shard and then by matrix.
using Parts = std::vector<Part>;

Error missing_parts(const RunConfig& config, const ShardPlan& plan,
                    const std::vector<int64_t>& missing) {
  constexpr size_t kMostNamed = 20;
  std::vector<std::string> named;
  for (size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i)
    named.push_back(fmt::to_string(missing[i]));
  if (missing.size() > kMostNamed) named.emplace_back("...");
  const std::string source = config.config_path.empty()
                                 ? "with the flags of the plan"
                                 : shell_command({"--config", config.config_path});
  return Error(
      {.code = "shards.missing",
       .what = fmt::format("{} not encoded yet",
                           format_count(std::ssize(missing), "shard is", "shards are")),
       .where = config.store.cache_dir,
       .expected = fmt::format("the parts of {}", format_count(plan.shards, "shard", "shards")),
       .found = fmt::format("no part of {}", fmt::join(named, ", ")),
       .hint = fmt::format("run each of them: encode run {} --shard {}/{}", source, missing.front(),
                           plan.shards)});
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

void require_one_device(const PartsList& list, const std::string& path) {
  for (const ChunkOrigin& origin : list.origins) {
    if (origin.same_bits(list.origins.front())) continue;
    throw Error({.code = "shards.foreign",
                 .what = "the shards were encoded on devices of different kinds",
                 .where = path,
                 .expected = "one kind of device, because strict_numerics is set",
                 .found = fmt::format("{} and {}", list.origins.front().device, origin.device),
                 .hint = "encode the shards again on one kind of device, or merge without "
                         "strict_numerics: the last bits of the vectors then differ by shard"});
  }
}

// Returns the paths of the matrices that a combined matrix of the part has side by side.
std::vector<std::string> combined_parts(const RunConfig& config, const Part& part,
                                        const CombineConfig& combine) {
  std::vector<std::string> paths;
  for (const std::string& stream : combine.streams) {
    for (size_t i = 0; i < config.streams.size(); ++i) {
      const StreamConfig& candidate = config.streams[i];
      if (candidate.split == combine.split && candidate.stream == stream)
        paths.push_back(part.matrices[i].path);
    }
  }
  return paths;
}

class Merge {
 public:
  Merge(const RunConfig& config, RunLog& log)
      : config_(config),
        log_(log),
        plan_(read_shard_plan(config.store.cache_dir)),
        parts_(find_parts(config, plan_)) {}

  std::vector<MergedMatrix> run() {
    check_parts();
    std::vector<MergedMatrix> merged;
    for (size_t matrix = 0; matrix < parts_.front().matrices.size(); ++matrix)
      merged.push_back(publish(matrix));
    return merged;
  }

 private:
  void check_parts() const;
  void check_part(int64_t shard) const;
  MergedMatrix publish(size_t matrix) const;
  std::string public_path(size_t matrix) const;

  const RunConfig& config_;
  RunLog& log_;
  ShardPlan plan_;
  Parts parts_;
};

void Merge::check_parts() const {
  share_calls(plan_.shards, cpu_quota(), [this](int64_t shard) { check_part(shard); });
}

// A part that is damaged is no part any more, so that its shard is encoded again.
void Merge::check_part(int64_t shard) const {
  const Part& part = parts_[static_cast<size_t>(shard)];
  for (size_t i = 0; i < part.matrices.size(); ++i) {
    const PartMatrix& matrix = part.matrices[i];
    const StreamIdentity identity =
        i < plan_.streams.size()
            ? plan_.identity(i, shard)
            : combined_identity(
                  combined_parts(config_, part, config_.combine[i - plan_.streams.size()]),
                  matrix.name);
    if (final_state(matrix.path, identity, /*check_hash=*/true) == FinalState::kValid) continue;
    remove_file(ShardFiles(config_.store.cache_dir).part(shard));
    throw Error({.code = "store.damaged",
                 .what = fmt::format("a part of shard {} is damaged, or of other rows", shard),
                 .where = matrix.path,
                 .expected = "the matrix that its attempt has published",
                 .found = "other bytes",
                 .hint = fmt::format("encode the shard again: encode run --shard {}/{}", shard,
                                     plan_.shards)});
  }
}

std::string Merge::public_path(size_t matrix) const {
  const std::string& name = parts_.front().matrices[matrix].name;
  return matrix < plan_.streams.size() ? final_path_of(config_, name)
                                       : final_path(config_.store.cache_dir, name);
}

MergedMatrix Merge::publish(size_t matrix) const {
  const std::string path = public_path(matrix);
  create_directories_durably(parent_directory(path));
  PartsList list;
  for (int64_t shard = 0; shard < plan_.shards; ++shard) {
    const PartMatrix& part = parts_[static_cast<size_t>(shard)].matrices[matrix];
    const Manifest manifest = read_manifest(part.path).value();
    if (manifest.identity.rows == 0) continue;
    const std::string to = part_name(path, shard, plan_.shards);
    if (!is_linked_final(part.path, to)) {
      OutputGuard(config_.store.overwrite).check_final(to);
      link_final(part.path, to);
    }
    list.add(std::filesystem::path(to).filename().string(), manifest);
  }
  const bool of_stream = matrix < plan_.streams.size();
  if (of_stream) list.identity = plan_.streams[matrix].identity;
  if (config_.hardware.strict_numerics) require_one_device(list, path);
  MergedMatrix merged = {.name = parts_.front().matrices[matrix].name,
                         .list = parts_list_path(path),
                         .parts = std::ssize(list.parts),
                         .rows = list.identity.rows,
                         .bytes = list.file_bytes()};
  write_parts_list(merged.list, list);
  log_.info("merged",
            fmt::format("{}: {} in {}, listed in {}", merged.name,
                        format_count(merged.rows, "row", "rows"),
                        format_count(merged.parts, "part", "parts"), merged.list),
            {{"name", merged.name}, {"rows", merged.rows}, {"parts", merged.parts}});
  return merged;
}

}  // namespace

std::vector<MergedMatrix> merge_shards(const RunConfig& config, Terminal& err, Terminal& out) {
  const CacheLock lock = CacheLock::acquire(config.store.cache_dir);
  RunLog log(config.log, err, out);
  return Merge(config, log).run();
}

}  // namespace encode
