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
#include "base/hash.h"
#include "base/host.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "run_plan/output_guard.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"
#include "shards/part.h"
#include "shards/shard_words.h"
#include "store/fingerprint/fingerprint.h"
#include "store/link_final.h"
#include "store/parts_list.h"

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

ShardPlan plan_of(const RunConfig& config) {
  ShardPlan plan = read_shard_plan(config.store.cache_dir);
  require_plan_of(config, plan);
  return plan;
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

// A merged matrix: where its files come from and go, and its list.
struct Merged {
  std::string path;  // "x.npy"; its parts are x-00000-of-00064.npy, ...
  PartsList list;
  std::vector<std::string> sources = {};  // the matrices of the attempts, as in `list.parts`

  std::string list_path() const { return parts_list_path(path); }
  std::string public_path(const PartsList::Entry& entry) const {
    return parent_directory(path) + "/" + entry.file;
  }
};

class Merge {
 public:
  explicit Merge(const RunConfig& config)
      : config_(config), plan_(plan_of(config)), parts_(find_parts(config, plan_)) {}

  // Nothing is published before everything is checked: a merge that is refused leaves an earlier
  // result as it is.
  std::vector<MergedMatrix> run(RunLog& log) {
    share_calls(plan_.shards, cpu_quota(), [this](int64_t shard) { check_part(shard); });
    std::vector<Merged> merged;
    for (size_t matrix = 0; matrix < parts_.front().matrices.size(); ++matrix)
      merged.push_back(list_of(matrix));
    for (const Merged& matrix : merged) check_names(matrix);
    std::vector<MergedMatrix> results;
    for (size_t matrix = 0; matrix < merged.size(); ++matrix) {
      if (matrix >= plan_.streams.size())
        merged[matrix].list.identity.fingerprint = combined_fingerprint_of(matrix, merged);
      results.push_back(publish(matrix, merged[matrix], log));
    }
    return results;
  }
  bool is_published() const {
    for (size_t matrix = 0; matrix < parts_.front().matrices.size(); ++matrix) {
      if (!is_published(list_of(matrix))) return false;
    }
    return true;
  }

 private:
  void check_part(int64_t shard) const;
  Merged list_of(size_t matrix) const;
  void check_names(const Merged& merged) const;
  std::string combined_fingerprint_of(size_t matrix, const std::vector<Merged>& merged) const;
  MergedMatrix publish(size_t matrix, const Merged& merged, RunLog& log) const;
  static bool is_published(const Merged& merged);
  const PartMatrix& part(int64_t shard, size_t matrix) const {
    return parts_[static_cast<size_t>(shard)].matrices[matrix];
  }

  const RunConfig& config_;
  ShardPlan plan_;
  Parts parts_;
};

// If a matrix is damaged, deletes the record of the part, so that the next run of its shard encodes
// the shard again.
void Merge::check_part(int64_t shard) const {
  const Part& part = parts_[static_cast<size_t>(shard)];
  for (size_t i = 0; i < part.matrices.size(); ++i) {
    const PartMatrix& matrix = part.matrices[i];
    const size_t streams = plan_.streams.size();
    StreamIdentity identity;
    if (i < streams) {
      identity = plan_.identity(i, shard);
    } else {
      std::vector<std::string> paths;
      for (const size_t stream : streams_of(config_, config_.combine[i - streams]))
        paths.push_back(part.matrices[stream].path);
      identity = combined_identity(paths, matrix.name);
    }
    const FinalState state = final_state(matrix.path, identity, /*check_hash=*/true);
    if (state == FinalState::kValid) continue;
    const std::optional<Part> named = find_part(config_, plan_, shard);
    if (named && named->attempt == part.attempt && state != FinalState::kForeign)
      remove_file(ShardFiles(config_.store.cache_dir).part(shard));
    throw Error({.code = "store.damaged",
                 .what = fmt::format("a part of shard {} is damaged", shard),
                 .where = matrix.path,
                 .expected = "the matrix that its attempt has published",
                 .found = in_words(state),
                 .hint = "encode the shard again: " +
                         shard_command(config_.config_path, shard, plan_.shards)});
  }
}

// Makes the list of a merged matrix from the manifests of its parts.
Merged Merge::list_of(size_t matrix) const {
  const std::string& name = part(0, matrix).name;
  const bool of_stream = matrix < plan_.streams.size();
  Merged merged = {
      .path = of_stream ? final_path_of(config_, name) : final_path(config_.store.cache_dir, name),
      .list = {}};
  for (int64_t shard = 0; shard < plan_.shards; ++shard) {
    const std::string& source = part(shard, matrix).path;
    const Manifest manifest = read_manifest(source).value();
    const std::string file = part_name(merged.path, shard, plan_.shards);
    merged.list.add(std::filesystem::path(file).filename().string(), manifest);
    if (manifest.identity.rows > 0) merged.sources.push_back(source);
  }
  if (of_stream) merged.list.identity = plan_.streams[matrix].identity;
  if (config_.hardware.strict_numerics) require_one_device(merged.list, merged.path);
  return merged;
}

// Throws if a file that encode did not write has one of the public names.
void Merge::check_names(const Merged& merged) const {
  const OutputGuard guard(config_.store.overwrite);
  for (const PartsList::Entry& entry : merged.list.parts)
    guard.check_final(merged.public_path(entry));
  guard.check_beside(merged.list_path(), is_foreign_parts_list(merged.list_path()));
}

// The fingerprint of a combined matrix has the hashes of the lists of its streams, which are
// published before it.
std::string Merge::combined_fingerprint_of(size_t matrix, const std::vector<Merged>& merged) const {
  const CombineConfig& combine = config_.combine[matrix - plan_.streams.size()];
  std::vector<CombinedPart> parts;
  for (const size_t i : streams_of(config_, combine))
    parts.push_back(
        {.identity = plan_.streams[i].identity, .xxh3_128 = xxh3_file(merged[i].list_path())});
  return combined_fingerprint(parts);
}

bool Merge::is_published(const Merged& merged) {
  try {
    if (read_parts_list(merged.list_path()).parts != merged.list.parts) return false;
    return std::ranges::all_of(merged.list.parts, [&](const PartsList::Entry& entry) {
      return entry_exists(merged.public_path(entry), "store.final");
    });
  } catch (const Error& error) {
    const ExitCode code = error.exit_code();
    if (code != ExitCode::kNoInput && code != ExitCode::kData && code != ExitCode::kConfig) throw;
    return false;
  }
}

MergedMatrix Merge::publish(size_t matrix, const Merged& merged, RunLog& log) const {
  create_directories_durably(parent_directory(merged.path));
  for (size_t i = 0; i < merged.sources.size(); ++i) {
    const std::string to = merged.public_path(merged.list.parts[i]);
    if (!is_linked_final(merged.sources[i], to)) link_final(merged.sources[i], to);
  }
  write_parts_list(merged.list_path(), merged.list);
  const MergedMatrix result = {.name = part(0, matrix).name,
                               .list = merged.list_path(),
                               .parts = std::ssize(merged.list.parts),
                               .rows = merged.list.identity.rows};
  log.info("merged",
           fmt::format("{}: {} in {}, listed in {}", result.name,
                       format_count(result.rows, "row", "rows"),
                       format_count(result.parts, "part", "parts"), result.list),
           {{"name", result.name}, {"rows", result.rows}, {"parts", result.parts}});
  return result;
}

}  // namespace

std::vector<MergedMatrix> merge_shards(const RunConfig& config, Terminal& err, Terminal& out) {
  RunLog log(config.log, err, out);
  return logging_errors(log, [&] {
    const CacheLock lock = CacheLock::acquire(config.store.cache_dir);
    return Merge(config).run(log);
  });
}

bool is_merged(const RunConfig& config) { return Merge(config).is_published(); }

}  // namespace encode
