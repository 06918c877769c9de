#include "batching/pack.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace encode {
namespace {

PackedBatch make_batch(const Sequences& sequences, const std::vector<int64_t>& members) {
  PackedBatch batch;
  batch.prompt_tokens = sequences.prompt_tokens;
  batch.cu_seqlens.push_back(0);
  const std::span<const int32_t> all_types = sequences.type_ids;
  for (const int64_t row : members) {
    const std::span<const int32_t> ids = sequences.ids.row(row);
    batch.input_ids.insert(batch.input_ids.end(), ids.begin(), ids.end());
    for (size_t position = 0; position < ids.size(); ++position) {
      batch.position_ids.push_back(static_cast<int32_t>(position));
    }
    if (!all_types.empty()) {
      const auto begin = static_cast<size_t>(sequences.ids.offsets[static_cast<size_t>(row)]);
      const std::span<const int32_t> types = all_types.subspan(begin, ids.size());
      batch.type_ids.insert(batch.type_ids.end(), types.begin(), types.end());
    }
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    batch.rows.push_back(row);
    batch.first_vectors.push_back(sequences.vectors.first(row));
    batch.vectors.push_back(static_cast<int32_t>(sequences.vectors.count(row)));
    const std::span<const TokenSpan> spans = sequences.vectors.spans_of(row);
    batch.spans.insert(batch.spans.end(), spans.begin(), spans.end());
    batch.max_seqlen = std::max(batch.max_seqlen, static_cast<int32_t>(ids.size()));
  }
  return batch;
}

}  // namespace

std::vector<std::vector<int64_t>> best_fit(std::span<const int64_t> lengths,
                                           int64_t capacity_tokens) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto length = [&](int64_t row) { return lengths[static_cast<size_t>(row)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return length(a) > length(b); });

  std::vector<std::vector<int64_t>> batches;
  std::multimap<int64_t, size_t> open;  // the free tokens of a batch -> its index
  for (const int64_t row : order) {
    if (length(row) == 0) break;
    auto fit = open.lower_bound(length(row));
    if (fit == open.end()) {
      const int64_t capacity =
          (length(row) + capacity_tokens - 1) / capacity_tokens * capacity_tokens;
      fit = open.emplace(capacity, batches.size());
      batches.emplace_back();
    }
    const auto [free_tokens, batch] = *fit;
    open.erase(fit);
    batches[batch].push_back(row);
    const bool full = std::ssize(batches[batch]) == kMostSequences;
    if (free_tokens > length(row) && !full) open.emplace(free_tokens - length(row), batch);
  }
  return batches;
}

std::vector<PackedBatch> pack(const Sequences& sequences, int64_t capacity_tokens,
                              std::span<const DuplicateRow> left_out) {
  const TokenizedRows& rows = sequences.ids;
  std::vector<int64_t> lengths;
  lengths.reserve(static_cast<size_t>(rows.size()));
  for (int64_t row = 0; row < rows.size(); ++row)
    lengths.push_back(static_cast<int64_t>(rows.row(row).size()));
  for (const DuplicateRow& duplicate : left_out) lengths[static_cast<size_t>(duplicate.row)] = 0;
  std::vector<PackedBatch> batches;
  for (const std::vector<int64_t>& members : best_fit(lengths, capacity_tokens)) {
    batches.push_back(make_batch(sequences, members));
  }
  return batches;
}

}  // namespace encode
