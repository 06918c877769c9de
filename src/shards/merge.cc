#include "shards/merge.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/output_types.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "run_plan/output_guard.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_log.h"
#include "run_record/run_paths.h"
#include "shards/checked_parts.h"
#include "shards/part.h"
#include "shards/part_columns.h"
#include "shards/work_lock.h"
#include "store/convert_part.h"
#include "store/fingerprint/fingerprint.h"
#include "store/link_final.h"
#include "store/parts_list.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Returns true if the error means that there is no result, or none that can be used.
bool is_no_result(const Error& error) {
  return error.exit_code() == ExitCode::kNoInput || error.exit_code() == ExitCode::kData ||
         error.exit_code() == ExitCode::kConfig;
}

class Merge {
 public:
  explicit Merge(const RunConfig& config)
      : config_(config),
        quantizes_(quantizes_at_merge(config)),
        plan_(read_plan_of(config)),
        parts_(find_parts(config, plan_)),
        merged_(whole_matrices(config)) {}

  // Nothing is published before everything is checked: a merge that is refused leaves an earlier
  // result as it is.
  std::vector<MergedMatrix> run(RunLog& log);
  bool is_published() const;

 private:
  void check_names() const;
  void link_parts(size_t matrix) const;
  void quantize_parts(size_t stream, const Ranges& ranges) const;
  void combine_parts(size_t matrix) const;
  Manifest manifest_of(int64_t shard, size_t matrix) const;
  Manifest manifest_of_no_rows(size_t matrix) const;
  PartsList list_of(size_t matrix) const;
  std::optional<PartsList> earlier_list(size_t matrix) const;
  std::string made_from(int64_t shard, size_t matrix) const;
  std::string combined_fingerprint_of(size_t matrix) const;
  MergedMatrix publish(size_t matrix, RunLog& log) const;
  bool is_published(size_t matrix) const;

  bool is_combined(size_t matrix) const { return matrix >= plan_.streams.size(); }
  // Returns the streams of a combined matrix, or the stream itself.
  std::vector<size_t> streams_in(size_t matrix) const {
    if (!is_combined(matrix)) return {matrix};
    return streams_of(config_, config_.combine[matrix - plan_.streams.size()]);
  }
  int64_t rows_of(int64_t shard, size_t matrix) const {
    const ShardedStream& stream = plan_.streams[streams_in(matrix).front()];
    return stream.shards[static_cast<size_t>(shard)].rows.size();
  }
  std::string public_path(int64_t shard, size_t matrix) const {
    return part_name(merged_[matrix].path, shard, plan_.shards);
  }
  std::string list_path(size_t matrix) const { return parts_list_path(merged_[matrix].path); }
  const PartMatrix& part(int64_t shard, size_t matrix) const {
    return parts_[static_cast<size_t>(shard)].matrices[matrix];
  }

  const RunConfig& config_;
  const bool quantizes_;
  ShardPlan plan_;
  Parts parts_;
  std::vector<WholeMatrix> merged_;  // the parts of "x.npy" are x-00000-of-00064.npy, ...
};

std::vector<MergedMatrix> Merge::run(RunLog& log) {
  RangesOfParts ranges(dims_of(plan_));
  check_parts(config_, plan_, parts_, quantizes_ ? &ranges : nullptr);
  if (config_.hardware.strict_numerics) require_one_device(parts_);
  check_names();
  std::vector<MergedMatrix> results;
  for (size_t matrix = 0; matrix < merged_.size(); ++matrix) {
    create_directories_durably(parent_directory(merged_[matrix].path));
    if (!quantizes_) {
      link_parts(matrix);
    } else if (is_combined(matrix)) {
      combine_parts(matrix);
    } else {
      quantize_parts(matrix, ranges.all()[matrix]);
    }
    results.push_back(publish(matrix, log));
  }
  return results;
}

bool Merge::is_published() const {
  for (size_t matrix = 0; matrix < merged_.size(); ++matrix) {
    if (!is_published(matrix)) return false;
  }
  return true;
}

// Throws if a file that encode did not write has one of the public names.
void Merge::check_names() const {
  const OutputGuard guard(config_.store.overwrite);
  for (size_t matrix = 0; matrix < merged_.size(); ++matrix) {
    for (int64_t shard = 0; shard < plan_.shards; ++shard) {
      if (rows_of(shard, matrix) > 0) guard.check_final(public_path(shard, matrix));
    }
    const std::string list = list_path(matrix);
    guard.check_beside(list, is_foreign_parts_list(list));
  }
}

void Merge::link_parts(size_t matrix) const {
  for (int64_t shard = 0; shard < plan_.shards; ++shard) {
    if (rows_of(shard, matrix) == 0) continue;
    const std::string& from = part(shard, matrix).path;
    const std::string to = public_path(shard, matrix);
    if (!is_linked_final(from, to)) link_final(from, to);
  }
}

// Converts the parts of a stream, several at a time. Keeps those that an earlier merge has made
// from the same rows with the same ranges.
void Merge::quantize_parts(size_t stream, const Ranges& ranges) const {
  const std::string ranges_hash = xxh3_hex(ranges.npy_bytes());
  const std::optional<PartsList> earlier = earlier_list(stream);
  share_calls(plan_.shards, cpu_quota(), [&](int64_t shard) {
    if (rows_of(shard, stream) == 0) return;
    const std::string to = public_path(shard, stream);
    const auto is_this = [&](const PartsList::Entry& entry) {
      return entry.made_from == made_from(shard, stream) && entry.file == file_name(to) &&
             final_state(to, plan_.identity(stream, shard), /*check_hash=*/true) ==
                 FinalState::kValid &&
             read_manifest(to)->ranges_xxh3_128 == ranges_hash;
    };
    if (earlier && std::ranges::any_of(earlier->parts, is_this)) return;
    const std::string& from = part(shard, stream).path;
    const Manifest manifest = read_manifest(from).value();
    convert_part(from, to,
                 {.format = config_.store.final_format,
                  .ranges = &ranges,
                  .columns = columns_of_part(from, manifest),
                  .columns_of_vectors = manifest.identity.passages});
  });
}

void Merge::combine_parts(size_t matrix) const {
  share_calls(plan_.shards, cpu_quota(), [&](int64_t shard) {
    if (rows_of(shard, matrix) == 0) return;
    std::vector<std::string> paths;
    for (const size_t stream : streams_in(matrix)) paths.push_back(public_path(shard, stream));
    const std::string to = public_path(shard, matrix);
    const StreamIdentity identity = combined_identity(paths, merged_[matrix].name);
    if (final_state(to, identity, /*check_hash=*/true) != FinalState::kValid)
      combine_finals(paths, to, merged_[matrix].name);
  });
}

// Returns the manifest of a part as it is, or will be, published.
Manifest Merge::manifest_of(int64_t shard, size_t matrix) const {
  if (!quantizes_) return read_manifest(part(shard, matrix).path).value();
  if (rows_of(shard, matrix) == 0) return manifest_of_no_rows(matrix);
  const std::string path = public_path(shard, matrix);
  std::optional<Manifest> manifest = read_manifest(path);
  if (!manifest) throw damage("a merged part is not finished", path, "its manifest", "none");
  return std::move(*manifest);
}

// A quantized part without rows is not published. Its manifest only gives the list its type.
Manifest Merge::manifest_of_no_rows(size_t matrix) const {
  const FinalFormat& format = config_.store.final_format;
  Manifest manifest = {.identity = plan_.streams[streams_in(matrix).front()].identity,
                       .type = format.type,
                       .file = is_combined(matrix) ? MatrixFormat::kNpy : format.file};
  manifest.identity.name = merged_[matrix].name;
  manifest.identity.rows = manifest.identity.dim = 0;
  for (const size_t stream : streams_in(matrix)) {
    const int64_t dim = plan_.streams[stream].identity.dim;
    manifest.identity.dim += dim;
    manifest.columns += output_columns(format.type, dim);
  }
  return manifest;
}

std::string Merge::made_from(int64_t shard, size_t matrix) const {
  if (!quantizes_) return "";
  if (!is_combined(matrix)) return part(shard, matrix).seal.xxh3_128;
  Xxh3 hash;
  for (const size_t stream : streams_in(matrix)) {
    const std::string& of_stream = part(shard, stream).seal.xxh3_128;
    hash.update(of_stream.data(), of_stream.size());
  }
  return hash.hex();
}

// Makes the list of a merged matrix from the manifests of its parts.
PartsList Merge::list_of(size_t matrix) const {
  PartsList list;
  for (int64_t shard = 0; shard < plan_.shards; ++shard) {
    list.add(file_name(public_path(shard, matrix)), manifest_of(shard, matrix));
    if (rows_of(shard, matrix) > 0) list.parts.back().made_from = made_from(shard, matrix);
  }
  if (!is_combined(matrix)) list.identity = plan_.streams[matrix].identity;
  return list;
}

// Returns the list that an earlier merge has published; nullopt if there is none that can be used.
std::optional<PartsList> Merge::earlier_list(size_t matrix) const {
  try {
    return read_parts_list(list_path(matrix));
  } catch (const Error& error) {
    if (!is_no_result(error)) throw;
    return std::nullopt;
  }
}

bool Merge::is_published(size_t matrix) const {
  try {
    const std::optional<PartsList> earlier = earlier_list(matrix);
    if (!earlier || earlier->parts != list_of(matrix).parts) return false;
    const std::string list = list_path(matrix);
    return std::ranges::all_of(earlier->parts, [&](const PartsList::Entry& entry) {
      return entry_exists(part_path(list, entry), "store.final");
    });
  } catch (const Error& error) {
    if (!is_no_result(error)) throw;
    return false;
  }
}

// The fingerprint of a combined matrix has the hashes of the lists of its streams, which are
// published before it.
std::string Merge::combined_fingerprint_of(size_t matrix) const {
  std::vector<CombinedPart> parts;
  for (const size_t i : streams_in(matrix))
    parts.push_back({.identity = plan_.streams[i].identity, .xxh3_128 = xxh3_file(list_path(i))});
  return combined_fingerprint(parts);
}

MergedMatrix Merge::publish(size_t matrix, RunLog& log) const {
  PartsList list = list_of(matrix);
  if (is_combined(matrix)) list.identity.fingerprint = combined_fingerprint_of(matrix);
  write_parts_list(list_path(matrix), list);
  const MergedMatrix result = {.name = merged_[matrix].name,
                               .list = list_path(matrix),
                               .parts = std::ssize(list.parts),
                               .rows = list.identity.rows};
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
    const CacheLock lock = lock_plan(config.store.cache_dir, log);
    return Merge(config).run(log);
  });
}

bool is_merged(const RunConfig& config) { return Merge(config).is_published(); }

}  // namespace encode
