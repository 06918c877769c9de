#include "shards/part.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/json.h"
#include "base/path_kind.h"
#include "run_record/run_paths.h"
#include "shards/attempt.h"
#include "store/attempt_folders.h"
#include "store/layout.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kFormat = 1;
constexpr ErrorCode kDamaged = "store.damaged";

// The matrices that an attempt makes, without their seals.
std::vector<PartMatrix> matrices_of(const RunConfig& config, int64_t shard,
                                    const std::string& attempt) {
  const RunConfig own = config_of_attempt(config, shard, attempt);
  std::vector<PartMatrix> matrices;
  for (const StreamConfig& stream : own.streams)
    matrices.push_back({.name = stream.name(), .path = final_path_of(own, stream.name())});
  for (const CombineConfig& combine : own.combine) {
    const std::string name = combined_name(combine);
    matrices.push_back({.name = name, .path = final_path(own.store.cache_dir, name)});
  }
  return matrices;
}

FileSeal seal_of(const PartMatrix& matrix) {
  const std::optional<Manifest> manifest = read_manifest(matrix.path);
  if (!manifest)
    throw damage("a matrix of the shard is not finished", matrix.path, "its manifest", "none");
  return {.file_bytes = manifest->file_bytes, .xxh3_128 = manifest->xxh3_128};
}

std::string record_text(const Shard& shard, const std::string& attempt,
                        const std::vector<PartMatrix>& matrices) {
  Json described = Json::array();
  for (const PartMatrix& matrix : matrices) {
    described.push_back({{"name", matrix.name},
                         {"file_bytes", matrix.seal.file_bytes},
                         {"xxh3_128", matrix.seal.xxh3_128}});
  }
  return seal({{"format", kFormat},
               {"plan", shard.plan.checksum},
               {"shard", shard.index},
               {"attempt", attempt},
               {"matrices", std::move(described)}}) +
         "\n";
}

// Writing a record would fail only at the end of a shard, so what has its path is refused before.
void require_place_of_record(const std::string& path) {
  const PathKind kind = path_kind(path, "shards.missing");
  if (kind == PathKind::kAbsent || kind == PathKind::kFile) return;
  throw Error({.code = "shards.config",
               .what = "the record of a shard cannot be read or written",
               .where = path,
               .expected = "no entry, or the file that an attempt has published",
               .found = kind == PathKind::kDirectory ? "a folder" : "a device, a pipe or a socket",
               .hint = "move it away, and run the same command again"});
}

// A record, whose matrices are not checked yet. It has no attempt if there is none of this plan.
struct Record {
  std::string attempt;
  Json json = {};
};

bool is_of_no_plan(const Error& error) {
  return error.exit_code() == ExitCode::kNoInput || error.exit_code() == ExitCode::kData ||
         error.exit_code() == ExitCode::kConfig;
}

Record read_record(const std::string& path, const ShardPlan& plan, int64_t shard) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  require_place_of_record(path);
  try {
    Record record = {.attempt = "", .json = unseal_file(path, kMostBytes, kDamaged).object};
    const JsonFields fields(record.json, path, kDamaged);
    fields.integer("format", kFormat, kFormat);
    fields.integer("shard", shard, shard);
    if (fields.string("plan") != plan.checksum) return {};
    const std::string attempt = fields.string("attempt");
    if (is_attempt_name(attempt)) record.attempt = attempt;
    return record;
  } catch (const Error& error) {
    if (!is_of_no_plan(error)) throw;
    return {};
  }
}

// Throws Error kData or kConfig if the record does not have the matrices of the config.
Part part_of(const Record& record, const RunConfig& config, int64_t shard,
             const std::string& path) {
  Part part{.attempt = record.attempt, .matrices = matrices_of(config, shard, record.attempt)};
  const JsonFields fields(record.json, path, kDamaged);
  const Json& matrices = fields.array("matrices");
  if (matrices.size() != part.matrices.size())
    fields.refuse("matrices", fmt::format("{} matrices", part.matrices.size()),
                  fmt::to_string(matrices.size()));
  for (size_t i = 0; i < matrices.size(); ++i) {
    const JsonFields matrix(matrices[i], path, kDamaged);
    if (matrix.string("name") != part.matrices[i].name)
      matrix.refuse("name", part.matrices[i].name, matrix.string("name"));
    part.matrices[i].seal = {.file_bytes = matrix.integer("file_bytes", 0, kMaxInteger),
                             .xxh3_128 = matrix.string("xxh3_128")};
  }
  return part;
}

bool has_size(const PartMatrix& matrix) {
  try {
    return file_size(open_for_reading(matrix.path, "npy.open"), matrix.path) ==
               matrix.seal.file_bytes &&
           read_manifest(matrix.path).has_value();
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kNoInput || error.exit_code() == ExitCode::kData)
      return false;
    throw;
  }
}

}  // namespace

void publish_part(const RunConfig& config, const Shard& shard, const std::string& attempt) {
  std::vector<PartMatrix> matrices = matrices_of(config, shard.index, attempt);
  for (PartMatrix& matrix : matrices) matrix.seal = seal_of(matrix);
  write_file_durably(ShardFiles(config.store.cache_dir).part(shard.index),
                     record_text(shard, attempt, matrices));
}

std::string published_attempt(const ShardFiles& files, const ShardPlan& plan, int64_t shard) {
  return read_record(files.part(shard), plan, shard).attempt;
}

std::map<std::string, std::string> published_hashes(const ShardFiles& files, const ShardPlan& plan,
                                                    int64_t shard) {
  const std::string path = files.part(shard);
  const Record record = read_record(path, plan, shard);
  std::map<std::string, std::string> hashes;
  if (record.attempt.empty()) return hashes;
  const JsonFields fields(record.json, path, kDamaged);
  for (const Json& matrix : fields.array("matrices")) {
    const JsonFields matrix_fields(matrix, path, kDamaged);
    hashes[matrix_fields.string("name")] = matrix_fields.string("xxh3_128");
  }
  return hashes;
}

std::optional<Part> find_part(const RunConfig& config, const ShardPlan& plan, int64_t shard) {
  const std::string path = ShardFiles(config.store.cache_dir).part(shard);
  const Record record = read_record(path, plan, shard);
  if (record.attempt.empty()) return std::nullopt;
  try {
    Part part = part_of(record, config, shard, path);
    if (std::ranges::all_of(part.matrices, has_size)) return part;
  } catch (const Error& error) {
    if (!is_of_no_plan(error)) throw;
  }
  return std::nullopt;
}

std::string part_name(const std::string& matrix_path, int64_t shard, int64_t shards) {
  std::filesystem::path path(matrix_path);
  const std::string extension = path.extension().string();
  return fmt::format("{}-{:05}-of-{:05}{}", path.replace_extension().string(), shard, shards,
                     extension);
}

}  // namespace encode
