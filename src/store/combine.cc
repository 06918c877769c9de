#include <algorithm>
#include <filesystem>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/json.h"
#include "store/final.h"
#include "store/layout.h"
#include "store/matrix_file.h"
#include "store/records.h"
#include "store/sealed_json.h"

namespace encode {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;

std::vector<Manifest> part_manifests(const std::vector<std::string>& matrix_paths) {
  std::vector<Manifest> manifests;
  for (const std::string& path : matrix_paths) {
    std::optional<Manifest> manifest = read_manifest(path);
    if (!manifest)
      throw damage("a matrix to combine is not finished", path, "its manifest beside it", "none");
    if (!manifests.empty() && manifest->identity.rows != manifests.front().identity.rows) {
      throw Error({.exit_code = ExitCode::kData,
                   .code = "store.combine_rows",
                   .what = "matrices of different length cannot be combined",
                   .where = path,
                   .expected = std::to_string(manifests.front().identity.rows) + " rows, as " +
                               matrix_paths.front(),
                   .found = std::to_string(manifest->identity.rows) + " rows",
                   .hint = "the inputs of one split must have one row per sample each"});
    }
    manifests.push_back(std::move(*manifest));
  }
  return manifests;
}

StreamIdentity identity_of(const std::vector<Manifest>& parts, const std::string& name) {
  StreamIdentity identity = {.name = name, .fingerprint = "", .rows = 0, .dim = 0};
  Json described = Json::array();
  for (const Manifest& part : parts) {
    identity.rows = part.identity.rows;
    identity.dim += part.identity.dim;
    described.push_back({{"name", part.identity.name},
                         {"dim", part.identity.dim},
                         {"xxh3_128", part.xxh3_128},
                         {"fingerprint", Json::parse(part.identity.fingerprint)}});
  }
  identity.fingerprint = Json{{"combined", described}}.dump();
  return identity;
}

// Reads one part in step with the others and writes its columns into the combined block.
class PartColumns {
 public:
  PartColumns(const std::string& path, const Manifest& manifest)
      : reader_(path), manifest_(manifest) {
    if (reader_.rows() != manifest.identity.rows || reader_.dim() != manifest.identity.dim) {
      throw damage(
          "a matrix does not have the shape that its manifest says", path,
          std::to_string(manifest.identity.rows) + " x " + std::to_string(manifest.identity.dim),
          std::to_string(reader_.rows()) + " x " + std::to_string(reader_.dim()));
    }
  }

  int64_t dim() const { return reader_.dim(); }

  void copy_rows(int64_t rows, float* first_row, int64_t stride) {
    const std::span<const float> values = reader_.next(rows);
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(values.data() + row * dim(), dim(), first_row + row * stride);
    }
  }

  void check_hash() const {
    const std::string found = reader_.xxh3_hex();
    if (found != manifest_.xxh3_128) {
      throw damage("a matrix to combine is damaged", reader_.path(),
                   "XXH3-128 " + manifest_.xxh3_128, found);
    }
  }

 private:
  NpyReader reader_;
  const Manifest& manifest_;
};

}  // namespace

StreamIdentity combined_identity(const std::vector<std::string>& matrix_paths,
                                 const std::string& name) {
  return identity_of(part_manifests(matrix_paths), name);
}

void combine_finals(const std::vector<std::string>& matrix_paths, const std::string& combined_path,
                    const std::string& name) {
  const std::vector<Manifest> manifests = part_manifests(matrix_paths);
  Manifest combined;
  combined.identity = identity_of(manifests, name);
  check_identity(combined.identity);
  std::vector<PartColumns> parts;
  for (size_t i = 0; i < manifests.size(); ++i) {
    parts.emplace_back(matrix_paths[i], manifests[i]);
    combined.stats.add(manifests[i].stats);
    combined.parts.push_back(std::filesystem::path(matrix_paths[i]).filename().string());
    for (const std::string& device : manifests[i].devices) {
      const bool known = std::find(combined.devices.begin(), combined.devices.end(), device) !=
                         combined.devices.end();
      if (!known) combined.devices.push_back(device);
    }
  }
  create_directories_durably(parent_directory(combined_path));
  remove_final_temp_files(combined_path);
  const int64_t dim = combined.identity.dim;
  NpyWriter writer(combined_path, {.begin = 0, .end = combined.identity.rows}, dim);
  const int64_t block_rows = std::max<int64_t>(1, kBlockBytes / (dim * 4));
  std::vector<float> block;
  while (writer.rows_written() < combined.identity.rows) {
    const int64_t rows = std::min(block_rows, combined.identity.rows - writer.rows_written());
    block.resize(static_cast<size_t>(rows * dim));
    float* column = block.data();
    for (PartColumns& part : parts) {
      part.copy_rows(rows, column, dim);
      column += part.dim();
    }
    writer.append(block);
  }
  for (const PartColumns& part : parts) part.check_hash();
  publish_final(writer, /*ledger=*/nullptr, std::move(combined));
}

}  // namespace encode
