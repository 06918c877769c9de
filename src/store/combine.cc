#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/output_types.h"
#include "base/units.h"
#include "columnar/matrix_reader.h"
#include "store/final.h"
#include "store/fingerprint/fingerprint.h"
#include "store/layout.h"
#include "store/matrix_file.h"
#include "store/quantize.h"
#include "store/records.h"
#include "store/same_rows.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

// Throws if the rows of two parts were made from different records of their inputs.
void require_same_records(const Manifest& first, const Manifest& part,
                          const std::string& first_path, const std::string& path) {
  const auto hash_of = [](const Manifest& manifest) {
    return manifest.source_rows ? manifest.source_rows->xxh3_128 : "";
  };
  if (hash_of(first) == hash_of(part)) return;
  throw Error({.code = "store.combine_rows",
               .what = "matrices that were filtered differently cannot be combined",
               .where = path,
               .expected = fmt::format("the records of {}", first_path),
               .found = "other records of its input",
               .hint = "encode the streams of one split with one filter, in one run"});
}

std::vector<Manifest> part_manifests(const std::vector<std::string>& matrix_paths) {
  std::vector<Manifest> manifests;
  for (const std::string& path : matrix_paths) {
    std::optional<Manifest> manifest = read_manifest(path);
    if (!manifest)
      throw damage("a matrix to combine is not finished", path, "a manifest beside it",
                   "no manifest");
    if (!manifests.empty() && manifest->identity.rows != manifests.front().identity.rows) {
      throw Error({.code = "store.combine_rows",
                   .what = "matrices with different numbers of rows cannot be combined",
                   .where = path,
                   .expected = fmt::format(
                       "{}, as in {}", format_count(manifests.front().identity.rows, "row", "rows"),
                       matrix_paths.front()),
                   .found = format_count(manifest->identity.rows, "row", "rows"),
                   .hint = "each input of a split must have one row for each sample"});
    }
    if (!manifests.empty() && manifest->type != manifests.front().type) {
      throw Error({.code = "store.combine_type",
                   .what = "matrices of different types cannot be combined",
                   .where = path,
                   .expected = fmt::format("{}, as in {}", to_string(manifests.front().type),
                                           matrix_paths.front()),
                   .found = std::string(to_string(manifest->type)),
                   .hint = "encode the streams of one split with the same output_dtype"});
    }
    if (!manifests.empty())
      require_same_records(manifests.front(), *manifest, matrix_paths.front(), path);
    manifests.push_back(std::move(*manifest));
    require_same_rows(matrix_paths.front(), path,
                      {.code = "store.combine_rows",
                       .what = "matrices that lack different rows cannot be combined",
                       .hint = "run the config again with quarantine: drop for all streams"});
  }
  return manifests;
}

StreamIdentity identity_of(const std::vector<Manifest>& parts, const std::string& name) {
  StreamIdentity identity = {.name = name, .fingerprint = "", .rows = 0, .dim = 0};
  std::vector<CombinedPart> described;
  for (const Manifest& part : parts) {
    identity.rows = part.identity.rows;
    identity.first_row = part.identity.first_row;
    identity.dim += part.identity.dim;
    described.push_back({.identity = part.identity, .xxh3_128 = part.xxh3_128});
  }
  identity.fingerprint = combined_fingerprint(described);
  return identity;
}

// Reads the rows of one part and writes them into its columns of the combined block.
class PartColumns {
 public:
  PartColumns(const std::string& path, const Manifest& manifest)
      : reader_(open_matrix_reader(path, Elements::kAny)), manifest_(manifest) {
    if (reader_->rows() != manifest.vectors() || reader_->dim() != manifest.columns ||
        reader_->item() != facts_of(manifest.type).item) {
      throw damage(
          "a matrix does not have the shape and type in its manifest", path,
          fmt::format("{} x {} of {}", manifest.vectors(), manifest.columns,
                      item_facts(manifest.type).word),
          fmt::format("{} x {} of {}", reader_->rows(), reader_->dim(), reader_->item_word()));
    }
  }

  int64_t row_bytes() const { return reader_->row_bytes(); }

  void copy_rows(int64_t rows, std::byte* first_row, int64_t stride) {
    const std::span<const std::byte> values = reader_->next_bytes(rows);
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(values.data() + row * row_bytes(), row_bytes(), first_row + row * stride);
    }
  }

  void check_hash() {
    const std::string found = reader_->xxh3_hex();
    if (found != manifest_.xxh3_128) {
      throw damage("a matrix to combine is damaged", reader_->path(),
                   "XXH3-128 " + manifest_.xxh3_128, found);
    }
  }

 private:
  std::unique_ptr<MatrixReader> reader_;
  const Manifest& manifest_;
};

}  // namespace

StreamIdentity combined_identity(const std::vector<std::string>& matrix_paths,
                                 const std::string& name) {
  return identity_of(part_manifests(matrix_paths), name);
}

namespace {

// Makes the manifest of the combined matrix from the manifests of its parts.
Manifest combined_manifest(const std::vector<Manifest>& parts,
                           const std::vector<std::string>& matrix_paths, const std::string& name) {
  Manifest combined;
  combined.identity = identity_of(parts, name);
  combined.type = parts.front().type;
  for (size_t i = 0; i < parts.size(); ++i) {
    combined.columns += parts[i].columns;
    combined.ranges_given = combined.ranges_given || parts[i].ranges_given;
    combined.stats.add(parts[i].stats);
    if (parts[i].quarantine != QuarantinePolicy::kError) combined.quarantine = parts[i].quarantine;
    combined.parts.push_back(std::filesystem::path(matrix_paths[i]).filename().string());
    for (const ChunkOrigin& origin : parts[i].origins) add_origin(combined.origins, origin);
  }
  combined.dropped_rows = parts.front().dropped_rows;
  return combined;
}

std::string combined_ranges(const std::vector<Manifest>& parts,
                            const std::vector<std::string>& matrix_paths) {
  if (!has_ranges(parts.front().type)) return "";
  std::vector<Ranges> ranges;
  for (size_t i = 0; i < parts.size(); ++i)
    ranges.push_back(Ranges::of_final(matrix_paths[i], parts[i]));
  return Ranges::side_by_side(ranges).npy_bytes();
}

}  // namespace

void combine_finals(const std::vector<std::string>& matrix_paths, const std::string& combined_path,
                    const std::string& name) {
  const std::vector<Manifest> manifests = part_manifests(matrix_paths);
  Manifest combined = combined_manifest(manifests, matrix_paths, name);
  check_identity(combined.identity);
  std::vector<PartColumns> parts;
  int64_t row_bytes = 0;
  for (size_t i = 0; i < manifests.size(); ++i) {
    parts.emplace_back(matrix_paths[i], manifests[i]);
    row_bytes += parts.back().row_bytes();
  }
  create_directories_durably(parent_directory(combined_path));
  remove_final_temp_files(combined_path);
  NpyWriter writer(combined_path, {.rows = {.begin = 0, .end = combined.vectors()},
                                   .columns = combined.columns,
                                   .item = facts_of(combined.type).item});
  const int64_t block_rows = std::max<int64_t>(1, kFileBlockBytes / row_bytes);
  std::vector<std::byte> block;
  while (writer.rows_written() < combined.vectors()) {
    const int64_t rows = std::min(block_rows, combined.vectors() - writer.rows_written());
    block.resize(static_cast<size_t>(rows * row_bytes));
    std::byte* column = block.data();
    for (PartColumns& part : parts) {
      part.copy_rows(rows, column, row_bytes);
      column += part.row_bytes();
    }
    writer.append_bytes(block);
  }
  for (PartColumns& part : parts) part.check_hash();
  publish_final(writer, std::move(combined),
                {.ranges_bytes = combined_ranges(manifests, matrix_paths)});
}

}  // namespace encode
