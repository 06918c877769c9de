#include "job/row_reuse.h"

#include <algorithm>
#include <vector>

namespace encode {

CacheHits WindowCache::find(std::span<const PackedRow> rows, WindowValues& values) const {
  if (!on()) return {};
  std::vector<CacheRequest> requests;
  for (const PackedRow& row : rows)
    requests.push_back({.key = keys_[static_cast<size_t>(row.row)], .values = values.of(row)});
  cache_.find(requests);
  CacheHits hits;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].found) continue;
    hits.rows.insert(rows[i].row);
    hits.tokens += rows[i].tokens;
    if (requests[i].redone) hits.redone.insert(rows[i].row);
  }
  return hits;
}

void WindowCache::put(std::span<const PackedRow> rows, const std::set<int64_t>& redone,
                      const WindowValues& values) const {
  if (!on()) return;
  for (const PackedRow& row : rows) {
    cache_.put({.key = keys_[static_cast<size_t>(row.row)],
                .values = values.of(row),
                .redone = redone.contains(row.row)});
  }
}

ReusedRows copy_duplicates(std::span<const DuplicateRow> duplicates,
                           std::span<const FailedRow> failed, WindowValues& values) {
  const std::set<int64_t> numbers = numbers_of(failed);
  ReusedRows copied;
  for (const DuplicateRow& duplicate : duplicates) {
    if (numbers.contains(duplicate.first)) continue;
    const std::span<const float> from = values.of({.row = duplicate.first,
                                                   .tokens = duplicate.tokens,
                                                   .first_vector = duplicate.first_vector_of_first,
                                                   .vectors = duplicate.vectors});
    const std::span<float> to = values.of({.row = duplicate.row,
                                           .tokens = duplicate.tokens,
                                           .first_vector = duplicate.first_vector,
                                           .vectors = duplicate.vectors});
    std::copy(from.begin(), from.end(), to.begin());
    ++copied.rows;
    copied.tokens += duplicate.tokens;
  }
  return copied;
}

}  // namespace encode
