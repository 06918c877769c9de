#include "store/matrix/stored_values.h"

#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "encode/error.h"

#include "store/matrix/elements.h"

namespace encode {
namespace {

Ranges ranges_of(const std::string& path, const Manifest& manifest) {
  return has_ranges(manifest.type) ? Ranges::of_final(path, manifest) : Ranges(0);
}

std::string columns_text(int64_t columns, std::string_view descr) {
  return fmt::format("a manifest of {} columns of {}", columns, descr);
}

bool describes(const Manifest& manifest, const MatrixReader& matrix) {
  return npy_type(manifest.type) == matrix.descr() &&
         output_columns(manifest.type, manifest.identity.dim) == matrix.dim();
}

}  // namespace

StoredValues::StoredValues(OutputType type, int64_t dim, const Ranges& ranges)
    : type_(type), dim_(dim), dequantizer_(type, ranges) {}

StoredValues::StoredValues(const std::string& path, const Manifest& manifest)
    : StoredValues(manifest.type, manifest.identity.dim, ranges_of(path, manifest)) {}

StoredValues StoredValues::of_file(const MatrixReader& matrix) {
  for (const OutputType type : {OutputType::kFloat32, OutputType::kFloat16}) {
    if (npy_type(type) == matrix.descr()) return {type, matrix.dim(), Ranges(0)};
  }
  const std::optional<Manifest> manifest = read_manifest(matrix.path());
  if (manifest && describes(*manifest, matrix)) return {matrix.path(), *manifest};
  throw Error({.code = "npy.matrix",
               .what = "nothing says which numbers the integers of the matrix stand for",
               .where = matrix.path(),
               .expected = columns_text(matrix.dim(), matrix.descr()),
               .found = manifest
                            ? columns_text(output_columns(manifest->type, manifest->identity.dim),
                                           npy_type(manifest->type))
                            : "no manifest",
               .hint = fmt::format("keep {} (and {} of int8 and uint8) beside the matrix; of a "
                                   "combined matrix of bits use the parts",
                                   manifest_path(matrix.path()), ranges_path(matrix.path()))});
}

std::span<const float> StoredValues::convert(std::span<const std::byte> rows,
                                             std::vector<float>& buffer) const {
  const std::span<const float> stored =
      as_floats({.bytes = rows, .type = type_, .dim = dim_}, buffer);
  if (type_ == OutputType::kFloat32 || type_ == OutputType::kFloat16) return stored;
  dequantizer_.convert(buffer);
  return buffer;
}

}  // namespace encode
