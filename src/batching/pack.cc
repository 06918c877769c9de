#include "batching/pack.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace encode {
namespace {

PackedBatch make_batch(const TokenizedRows& rows, const std::vector<int64_t>& members,
                       int32_t prompt_tokens) {
  PackedBatch batch;
  batch.prompt_tokens = prompt_tokens;
  batch.cu_seqlens.push_back(0);
  for (const int64_t row : members) {
    const std::span<const int32_t> ids = rows.row(row);
    batch.input_ids.insert(batch.input_ids.end(), ids.begin(), ids.end());
    for (size_t position = 0; position < ids.size(); ++position) {
      batch.position_ids.push_back(static_cast<int32_t>(position));
    }
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    batch.rows.push_back(row);
    batch.token_offsets.push_back(rows.offsets[static_cast<size_t>(row)]);
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

std::vector<PackedBatch> pack(const TokenizedRows& rows, int64_t capacity_tokens,
                              int32_t prompt_tokens, std::span<const DuplicateRow> left_out) {
  std::vector<int64_t> lengths;
  lengths.reserve(static_cast<size_t>(rows.size()));
  for (int64_t row = 0; row < rows.size(); ++row)
    lengths.push_back(static_cast<int64_t>(rows.row(row).size()));
  for (const DuplicateRow& duplicate : left_out) lengths[static_cast<size_t>(duplicate.row)] = 0;
  std::vector<PackedBatch> batches;
  for (const std::vector<int64_t>& members : best_fit(lengths, capacity_tokens)) {
    batches.push_back(make_batch(rows, members, prompt_tokens));
  }
  return batches;
}

void set_type_ids(std::vector<PackedBatch>& batches, const TokenizedRows& rows,
                  std::span<const int32_t> type_ids) {
  if (type_ids.empty()) return;
  for (PackedBatch& batch : batches) {
    for (const int64_t row : batch.rows) {
      const auto begin = static_cast<size_t>(rows.offsets[static_cast<size_t>(row)]);
      const std::span<const int32_t> types = type_ids.subspan(begin, rows.row(row).size());
      batch.type_ids.insert(batch.type_ids.end(), types.begin(), types.end());
    }
  }
}

}  // namespace encode
