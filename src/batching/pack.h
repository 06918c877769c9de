// Packs rows of token ids into batches with little unused space. Any thread may call these
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encode/batch.h"
#include "encode/tokenizer.h"

#include "batching/duplicates.h"

namespace encode {

// The most sequences of a batch. LibTorch's fused attention kernels number the sequences by the
// second or third dimension of a CUDA grid, which has at most this many blocks.
inline constexpr int64_t kMostSequences = 65'535;

// Distributes sequences over batches of at most `capacity_tokens` and kMostSequences, by best-fit
// decreasing bin packing (Johnson 1973). A longer sequence gets a batch with room for the next
// multiple of `capacity_tokens`, and short sequences fill the rest. Returns the members of each
// batch as indices into `lengths`. Lengths of zero are left out. The batches with the longest
// sequences come first, so that the allocator gets its largest request first. Takes O(n log n)
// time. The lengths are at least 0, and `capacity_tokens` is at least 1. Does not throw Error.
std::vector<std::vector<int64_t>> best_fit(std::span<const int64_t> lengths,
                                           int64_t capacity_tokens);

// Packs the rows of a window into batches. Rows without tokens and the rows of `left_out` are in no
// batch. `prompt_tokens` becomes PackedBatch::prompt_tokens. A batch must have fewer than 2^31
// tokens. Does not throw Error.
std::vector<PackedBatch> pack(const TokenizedRows& rows, int64_t capacity_tokens,
                              int32_t prompt_tokens, std::span<const DuplicateRow> left_out = {});

// Gives the tokens of packed rows their types. `type_ids` has the type of each id of `rows`, or
// nothing if all are 0. PackedBatch::rows must be indices into `rows`. Does not throw Error.
void set_type_ids(std::vector<PackedBatch>& batches, const TokenizedRows& rows,
                  std::span<const int32_t> type_ids);

}  // namespace encode
