// Rows of token ids -> packed batches that fill their token budget.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encode/batch.h"
#include "encode/tokenizer.h"

namespace encode {

// Best-fit decreasing bin packing (Johnson 1973) of sequences into batches of at most
// `capacity_tokens`; a longer sequence gets a batch of the next multiple of the capacity, filled up
// with short ones. Returns the members of each batch as indices into `lengths`, the batches with
// the longest sequences first, so that an allocator meets its largest request first. Lengths of
// zero are left out. O(n log n).
std::vector<std::vector<int64_t>> best_fit(std::span<const int64_t> lengths,
                                           int64_t capacity_tokens);

// The batches of a window of rows. Rows without tokens are in none of them. `prompt_tokens`: see
// PackedBatch.
std::vector<PackedBatch> pack(const TokenizedRows& rows, int64_t capacity_tokens,
                              int32_t prompt_tokens);

}  // namespace encode
