#include "search/zero_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "store/quantize.h"

namespace encode {
namespace {

constexpr int64_t kBlockBytes = 1 << 18;

// Whether the run has written zeros in place of vectors.
bool may_have_zeros(const Manifest& manifest) {
  return manifest.stats.zero_token_rows > 0 ||
         (manifest.quarantine == QuarantinePolicy::kZeros && manifest.stats.set_aside_rows > 0);
}

std::vector<std::byte> stored_zeros(const Matrix& matrix) {
  const Ranges ranges =
      has_ranges(matrix.type()) ? Ranges::of_final(matrix.path(), matrix.manifest()) : Ranges(0);
  std::vector<std::byte> bytes;
  Quantizer(matrix.type(), matrix.dim(), ranges)
      .convert(std::vector<float>(static_cast<size_t>(matrix.dim())), bytes);
  return bytes;
}

}  // namespace

std::vector<int64_t> zero_rows(const Matrix& matrix) {
  std::vector<int64_t> rows;
  if (!may_have_zeros(matrix.manifest())) return rows;
  const std::vector<std::byte> zeros = stored_zeros(matrix);
  const int64_t block = std::max<int64_t>(1, kBlockBytes / matrix.row_bytes());
  MatrixBuffer buffer;
  for (int64_t first = 0; first < matrix.rows(); first += block) {
    const RowRange range = {.begin = first, .end = std::min(first + block, matrix.rows())};
    const std::span<const std::byte> stored = matrix.stored(range, buffer);
    for (int64_t row = range.begin; row < range.end; ++row) {
      const std::byte* const bytes = stored.data() + (row - first) * matrix.row_bytes();
      if (std::memcmp(bytes, zeros.data(), zeros.size()) == 0) rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace encode
