#include "store/matrix/stored_values.h"

#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "encode/error.h"

#include "base/output_types.h"

namespace encode {
namespace {

Ranges ranges_of(const std::string& path, const Manifest& manifest) {
  return has_ranges(manifest.type) ? Ranges::of_final(path, manifest) : Ranges(0);
}

std::string columns_text(int64_t columns, std::string_view item) {
  return fmt::format("a manifest of {} columns of {}", columns, item);
}

// Returns the output type with these items, if it is the only one and is not quantized. The values
// can then be read without a manifest.
std::optional<OutputType> type_of_items(ItemType item) {
  std::optional<OutputType> found;
  for (const auto& [name, type] : kOutputTypes) {
    if (facts_of(type).item != item) continue;
    if (found || facts_of(type).quantization != Quantization::kNone) return std::nullopt;
    found = type;
  }
  return found;
}

bool describes(const Manifest& manifest, const MatrixReader& matrix) {
  return facts_of(manifest.type).item == matrix.item() &&
         output_columns(manifest.type, manifest.identity.dim) == matrix.dim();
}

}  // namespace

StoredValues::StoredValues(OutputType type, int64_t dim, const Ranges& ranges)
    : type_(type), dim_(dim), dequantizer_(type, ranges) {}

StoredValues::StoredValues(const std::string& path, const Manifest& manifest)
    : StoredValues(manifest.type, manifest.identity.dim, ranges_of(path, manifest)) {}

StoredValues StoredValues::of_file(const MatrixReader& matrix) {
  if (const std::optional<OutputType> type = type_of_items(matrix.item()))
    return {*type, matrix.dim(), Ranges(0)};
  const std::optional<Manifest> manifest = read_manifest(matrix.path());
  if (manifest && describes(*manifest, matrix)) return {matrix.path(), *manifest};
  throw Error({.code = "npy.matrix",
               .what = "nothing says which numbers the integers of the matrix stand for",
               .where = matrix.path(),
               .expected = columns_text(matrix.dim(), matrix.item_word()),
               .found = manifest
                            ? columns_text(output_columns(manifest->type, manifest->identity.dim),
                                           item_facts(manifest->type).word)
                            : "no manifest",
               .hint = fmt::format("keep {} (and {} of {}) beside the matrix; of a combined matrix "
                                   "of bits use the parts",
                                   manifest_path(matrix.path()), ranges_path(matrix.path()),
                                   ranged_types_in_words())});
}

std::span<const float> StoredValues::convert(std::span<const std::byte> rows,
                                             std::vector<float>& buffer) const {
  const std::span<const float> stored =
      as_floats({.bytes = rows, .type = type_, .dim = dim_}, buffer);
  if (facts_of(type_).quantization == Quantization::kNone) return stored;
  dequantizer_.convert(buffer);
  return buffer;
}

}  // namespace encode
