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
  for (const int64_t number : members) {
    const std::span<const int32_t> ids = sequences.ids.row(number);
    batch.input_ids.insert(batch.input_ids.end(), ids.begin(), ids.end());
    for (size_t position = 0; position < ids.size(); ++position) {
      batch.position_ids.push_back(static_cast<int32_t>(position));
    }
    if (!all_types.empty()) {
      const auto begin = static_cast<size_t>(sequences.ids.offsets[static_cast<size_t>(number)]);
      const std::span<const int32_t> types = all_types.subspan(begin, ids.size());
      batch.type_ids.insert(batch.type_ids.end(), types.begin(), types.end());
    }
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    batch.sequence_numbers.push_back(number);
    batch.first_vectors.push_back(sequences.vectors.first(number));
    batch.vectors.push_back(static_cast<int32_t>(sequences.vectors.count(number)));
    const std::span<const TokenSpan> spans = sequences.vectors.spans_of(number);
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
  const auto length = [&](int64_t member) { return lengths[static_cast<size_t>(member)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return length(a) > length(b); });

  std::vector<std::vector<int64_t>> batches;
  std::multimap<int64_t, size_t> open;  // the free tokens of a batch -> its index
  for (const int64_t member : order) {
    if (length(member) == 0) break;
    auto fit = open.lower_bound(length(member));
    if (fit == open.end()) {
      const int64_t capacity =
          (length(member) + capacity_tokens - 1) / capacity_tokens * capacity_tokens;
      fit = open.emplace(capacity, batches.size());
      batches.emplace_back();
    }
    const auto [free_tokens, batch] = *fit;
    open.erase(fit);
    batches[batch].push_back(member);
    const bool full = std::ssize(batches[batch]) == kMostSequences;
    if (free_tokens > length(member) && !full) open.emplace(free_tokens - length(member), batch);
  }
  return batches;
}

std::vector<PackedBatch> pack(const Sequences& sequences, int64_t capacity_tokens,
                              std::span<const DuplicateSequence> left_out) {
  const TokenizedRows& ids = sequences.ids;
  std::vector<int64_t> lengths;
  lengths.reserve(static_cast<size_t>(ids.size()));
  for (int64_t number = 0; number < ids.size(); ++number)
    lengths.push_back(std::ssize(ids.row(number)));
  for (const DuplicateSequence& duplicate : left_out)
    lengths[static_cast<size_t>(duplicate.number)] = 0;
  std::vector<PackedBatch> batches;
  for (const std::vector<int64_t>& members : best_fit(lengths, capacity_tokens)) {
    batches.push_back(make_batch(sequences, members));
  }
  return batches;
}

}  // namespace encode
