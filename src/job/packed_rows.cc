#include "job/packed_rows.h"

#include <cstddef>

namespace encode {
namespace {

// Returns the part of `floats`, which belong to `values`, that a row has.
template <typename Float>
std::span<Float> part_for(const PackedRow& row, const WindowValues& values,
                          std::span<Float> floats) {
  const auto dim = static_cast<size_t>(values.dim);
  if (!values.per_token) return floats.subspan(static_cast<size_t>(row.row) * dim, dim);
  return floats.subspan(static_cast<size_t>(row.token_offset) * dim,
                        static_cast<size_t>(row.tokens) * dim);
}

}  // namespace

std::vector<PackedRow> rows_of(std::span<const PackedBatch> batches) {
  std::vector<PackedRow> rows;
  for (const PackedBatch& batch : batches) {
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      rows.push_back({.row = batch.rows[b],
                      .token_offset = batch.token_offsets[b],
                      .tokens = batch.cu_seqlens[b + 1] - batch.cu_seqlens[b]});
    }
  }
  return rows;
}

std::vector<PackedRow> without(std::vector<PackedRow> rows, std::span<const FailedRow> failed) {
  if (failed.empty()) return rows;
  const std::set<int64_t> numbers = numbers_of(failed);
  std::erase_if(rows, [&numbers](const PackedRow& row) { return numbers.contains(row.row); });
  return rows;
}

std::set<int64_t> numbers_of(std::span<const FailedRow> failed) {
  std::set<int64_t> numbers;
  for (const FailedRow& row : failed) numbers.insert(row.place.row);
  return numbers;
}

std::span<float> WindowValues::of(const PackedRow& row) {
  return part_for(row, *this, std::span<float>(floats));
}

std::span<const float> WindowValues::of(const PackedRow& row) const {
  return part_for(row, *this, std::span<const float>(floats));
}

}  // namespace encode
