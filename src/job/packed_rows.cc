#include "job/packed_rows.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace encode {

std::vector<PackedRow> rows_of(std::span<const PackedBatch> batches) {
  std::vector<PackedRow> rows;
  for (const PackedBatch& batch : batches) {
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      rows.push_back({.row = batch.rows[b],
                      .tokens = batch.cu_seqlens[b + 1] - batch.cu_seqlens[b],
                      .first_vector = batch.first_vectors[b],
                      .vectors = batch.vectors[b]});
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

std::vector<FailedRow> with_duplicates(std::vector<FailedRow> failed,
                                       std::span<const DuplicateRow> duplicates) {
  std::map<int64_t, size_t> places;  // a row -> where it is in `failed`
  for (size_t i = 0; i < failed.size(); ++i) places[failed[i].place.row] = i;
  for (const DuplicateRow& duplicate : duplicates) {
    const auto first = places.find(duplicate.first);
    if (first == places.end()) continue;
    FailedRow row = failed[first->second];
    row.place = {.row = duplicate.row,
                 .tokens = duplicate.tokens,
                 .first_vector = duplicate.first_vector,
                 .vectors = duplicate.vectors};
    failed.push_back(std::move(row));
  }
  std::sort(failed.begin(), failed.end(),
            [](const FailedRow& a, const FailedRow& b) { return a.place.row < b.place.row; });
  return failed;
}

std::span<const float> WindowValues::of(const PackedRow& row) const {
  return std::span(floats).subspan(static_cast<size_t>(row.first_vector * dim),
                                   static_cast<size_t>(row.vectors * dim));
}

std::span<float> WindowValues::of(const PackedRow& row) {
  const std::span<const float> part = std::as_const(*this).of(row);
  return std::span(floats).subspan(static_cast<size_t>(part.data() - floats.data()), part.size());
}

}  // namespace encode
