// Packs rows of token ids into batches with little unused space.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encode/batch.h"
#include "encode/tokenizer.h"

namespace encode {

// Distributes sequences over batches of at most `capacity_tokens`, by best-fit decreasing bin
// packing (Johnson 1973). lengths[i] is the number of tokens of sequence i. A sequence that is
// longer than `capacity_tokens` gets a batch with room for the next multiple of it, and short
// sequences fill the rest. Returns the sequences in each batch, as indices into `lengths`.
// Sequences without tokens are left out. The batches with the longest sequences come first, so that
// the allocator gets its largest request first. Takes O(n log n) time.
std::vector<std::vector<int64_t>> best_fit(std::span<const int64_t> lengths,
                                           int64_t capacity_tokens);

// Packs `rows` into batches with best_fit(). Rows without tokens are in no batch. `prompt_tokens`
// becomes PackedBatch::prompt_tokens.
std::vector<PackedBatch> pack(const TokenizedRows& rows, int64_t capacity_tokens,
                              int32_t prompt_tokens);

}  // namespace encode
