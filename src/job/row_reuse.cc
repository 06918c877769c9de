#include "job/row_reuse.h"

#include <algorithm>
#include <set>
#include <vector>

#include "batching/repack.h"
#include "job/row_slice.h"

namespace encode {
namespace {

// Calls `visit` with each row of the batches, its number of tokens and the place of its vectors.
void visit_rows(const Window& window, const Encoder& encoder,
                const std::function<void(int64_t row, int64_t tokens, RowSlice)>& visit) {
  for (const PackedBatch& batch : window.batches) {
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      const int64_t tokens = batch.cu_seqlens[b + 1] - batch.cu_seqlens[b];
      visit(batch.rows[b], tokens,
            slice_of(encoder, batch.rows[b], batch.token_offsets[b], tokens));
    }
  }
}

}  // namespace

int64_t RowReuse::take_cached(Window& window, std::span<float> values, int64_t budget_tokens) {
  if (!cache_.on() || window.keys.empty()) return 0;
  std::vector<CacheRequest> requests;
  std::vector<std::pair<int64_t, int64_t>> rows;  // row, tokens
  visit_rows(window, encoder_, [&](int64_t row, int64_t tokens, RowSlice slice) {
    requests.push_back({.key = window.keys[static_cast<size_t>(row)], .values = slice.of(values)});
    rows.emplace_back(row, tokens);
  });
  cache_.find(requests);
  std::set<int64_t> found;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].found) continue;
    const auto [row, tokens] = rows[i];
    found.insert(row);
    ++window.reused.rows;
    window.reused.tokens += tokens;
    if (requests[i].redone) window.count_redone(row);
  }
  if (!found.empty()) {
    window.batches = repack(window.batches, budget_tokens,
                            [&found](int64_t row) { return found.contains(row); });
  }
  return std::ssize(found);
}

void RowReuse::put(const Window& window, std::span<const float> values, const Has& set_aside,
                   const Has& redone) {
  if (!cache_.on() || window.keys.empty()) return;
  visit_rows(window, encoder_, [&](int64_t row, int64_t /*tokens*/, RowSlice slice) {
    if (set_aside(row)) return;
    cache_.put({.key = window.keys[static_cast<size_t>(row)],
                .values = slice.of(values),
                .redone = redone(row)});
  });
}

void RowReuse::copy_duplicates(Window& window, std::span<float> values,
                               const Has& set_aside) const {
  for (const DuplicateRow& duplicate : window.duplicates) {
    if (set_aside(duplicate.first)) continue;
    const std::span<const float> from =
        slice_of(encoder_, duplicate.first, duplicate.first_token_offset, duplicate.tokens)
            .of(values);
    std::copy(from.begin(), from.end(),
              slice_of(encoder_, duplicate.row, duplicate.token_offset, duplicate.tokens)
                  .of(values)
                  .begin());
    ++window.reused.rows;
    window.reused.tokens += duplicate.tokens;
  }
}

}  // namespace encode
