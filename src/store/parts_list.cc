#include "store/parts_list.h"

#include <filesystem>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/json_values.h"
#include "base/output_types.h"
#include "base/path_kind.h"
#include "store/identity_fields.h"
#include "store/layout.h"
#include "store/records.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kFormat = 1;
constexpr int64_t kMostBytes = int64_t{256} << 20;
constexpr ErrorCode kDamaged = "store.damaged";
constexpr std::string_view kListSuffix = ".parts.json";

// Throws if the parts do not tile the rows of the stream.
void require_tiling(const PartsList& list, const std::string& where) {
  int64_t next = 0;
  for (const PartsList::Entry& part : list.parts) {
    if (part.rows.begin != next || part.rows.end <= next)
      throw damage("the rows of a part do not follow those of the part before", where,
                   fmt::format("a part that begins with row {}", next),
                   fmt::format("{}: rows {} to {}", part.file, part.rows.begin, part.rows.end - 1));
    next = part.rows.end;
  }
  if (next != list.identity.rows)
    throw damage("the parts do not have all rows", where,
                 fmt::format("{} rows", list.identity.rows), fmt::format("{} rows", next));
}

Json parts_json(const PartsList& list) {
  Json parts = Json::array();
  for (const PartsList::Entry& part : list.parts) {
    parts.push_back({{"file", part.file},
                     {"first_row", part.rows.begin},
                     {"rows", part.rows.size()},
                     {"vectors", part.vectors},
                     {"file_bytes", part.seal.file_bytes},
                     {"xxh3_128", part.seal.xxh3_128}});
    if (!part.made_from.empty()) parts.back()["made_from"] = part.made_from;
  }
  return parts;
}

PartsList::Entry part_from_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kDamaged);
  const int64_t first_row = fields.integer("first_row", 0, kMaxInteger);
  std::string file = fields.string("file");
  // A list must not lead to files in other folders.
  if (file.empty() || file.find('/') != std::string::npos)
    fields.refuse("file", "the name of a file beside the list", file);
  return {.file = std::move(file),
          .rows = {.begin = first_row, .end = first_row + fields.integer("rows", 1, kMaxInteger)},
          .vectors = fields.integer("vectors", 0, kMaxInteger),
          .seal = {.file_bytes = fields.integer("file_bytes", 0, kMaxInteger),
                   .xxh3_128 = fields.string("xxh3_128")},
          .made_from = fields.string_or("made_from", "")};
}

PartsList list_from_json(const Json& json, const std::string& where) {
  const JsonFields fields(json, where, kDamaged);
  fields.integer("format", kFormat, kFormat);
  PartsList list;
  list.identity = identity_from(fields);
  list.type = parse_output_type(fields.string("output_dtype"), where);
  list.file = named_value(fields, "file_format", kMatrixFormats);
  list.columns = fields.integer("columns", 1, kMaxInteger);
  list.dropped_rows = fields.integer("dropped_rows", 0, kMaxInteger);
  list.stats = row_stats_from_json(fields.object("stats"), where);
  list.origins = chunk_origins_from(fields, where);
  for (const Json& part : fields.array("parts")) list.parts.push_back(part_from_json(part, where));
  require_tiling(list, where);
  return list;
}

}  // namespace

void PartsList::add(const std::string& name, const Manifest& manifest) {
  if (columns == 0) {
    identity = manifest.identity;
    identity.first_row = identity.rows = 0;
    type = manifest.type;
    columns = manifest.columns;
    file = manifest.file;
  }
  if (manifest.type != type || manifest.columns != columns || manifest.file != file ||
      manifest.identity.dim != identity.dim)
    throw damage("the parts of a matrix have different types", name,
                 fmt::format("{} columns of {}", columns, to_string(type)),
                 fmt::format("{} columns of {}", manifest.columns, to_string(manifest.type)));
  if (manifest.identity.rows == 0) return;
  parts.push_back({.file = name,
                   .rows = manifest.identity.range(),
                   .vectors = manifest.vectors(),
                   .seal = {.file_bytes = manifest.file_bytes, .xxh3_128 = manifest.xxh3_128}});
  identity.rows = manifest.identity.range().end;
  dropped_rows += manifest.dropped_rows;
  stats.add(manifest.stats);
  for (const ChunkOrigin& origin : manifest.origins) add_origin(origins, origin);
}

int64_t PartsList::vectors() const {
  return std::accumulate(parts.begin(), parts.end(), int64_t{0},
                         [](int64_t sum, const Entry& part) { return sum + part.vectors; });
}

std::string parts_list_path(const std::string& matrix_path) {
  if (is_parts_list(matrix_path)) return matrix_path;
  return std::filesystem::path(matrix_path).replace_extension().string() + std::string(kListSuffix);
}

std::string matrix_of_list(const std::string& list_path, const PartsList& list) {
  return fmt::format("{}.{}", list_path.substr(0, list_path.size() - kListSuffix.size()),
                     to_string(list.file));
}

bool is_parts_list(const std::string& path) { return path.ends_with(kListSuffix); }

bool is_foreign_parts_list(const std::string& path) {
  if (!entry_exists(path, "store.manifest")) return false;
  if (path_kind(path, "store.manifest") != PathKind::kFile) return true;
  constexpr std::string_view kBegin = R"({"checksum":")";
  return read_head(path, std::ssize(kBegin), "store.manifest") != kBegin;
}

void write_parts_list(const std::string& path, const PartsList& list) {
  require_tiling(list, path);
  Json json = {{"format", kFormat},
               {"name", list.identity.name},
               {"rows", list.identity.rows},
               {"dim", list.identity.dim},
               {"token_embeddings", list.identity.token_embeddings},
               {"output_dtype", to_string(list.type)},
               {"file_format", to_string(list.file)},
               {"columns", list.columns},
               {"vectors", list.vectors()},
               {"dropped_rows", list.dropped_rows},
               {"stats", to_json(list.stats)},
               {"origins", to_json(list.origins)},
               {"parts", parts_json(list)},
               {"fingerprint", Json::parse(list.identity.fingerprint)}};
  if (list.identity.passages) json["passages"] = true;
  write_file_durably(path, seal(json, /*indent=*/2) + "\n");
}

std::string part_path(const std::string& list_path, const PartsList::Entry& part) {
  return join_path(parent_directory(list_path), part.file);
}

std::vector<Manifest> read_part_manifests(const std::string& list_path, const PartsList& list) {
  std::vector<Manifest> manifests;
  for (const PartsList::Entry& part : list.parts) {
    const std::string path = part_path(list_path, part);
    std::optional<Manifest> manifest = read_manifest(path);
    if (manifest && manifest->xxh3_128 == part.seal.xxh3_128 &&
        manifest->identity.range() == part.rows) {
      manifests.push_back(std::move(*manifest));
      continue;
    }
    ErrorDetail detail = damage("a part is not the one in the list", path,
                                fmt::format("rows {} to {}, XXH3-128 {}", part.rows.begin,
                                            part.rows.end - 1, part.seal.xxh3_128),
                                manifest ? "another matrix" : "no manifest")
                             .detail();
    detail.hint =
        fmt::format("run `encode merge` again; `encode verify {}` checks every part", list_path);
    throw Error(std::move(detail));
  }
  return manifests;
}

PartsList read_parts_list(const std::string& path) {
  try {
    return list_from_json(unseal_file(path, kMostBytes, "store.manifest").object, path);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kData && error.exit_code() != ExitCode::kConfig) throw;
    ErrorDetail detail =
        damage(error.detail().what, path, error.detail().expected, error.detail().found).detail();
    detail.hint = "run `encode merge` again: it writes the list anew";
    throw Error(std::move(detail));
  }
}

}  // namespace encode
