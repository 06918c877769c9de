// Packs sequences of token ids into batches with little unused space. Any thread may call these
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encode/batch.h"

#include "batching/duplicates.h"
#include "batching/sequences.h"

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

// Packs sequences into batches. Their numbers become PackedBatch::sequence_numbers. Sequences
// without tokens and those of `left_out` are in no batch. A batch must have fewer than 2^31 tokens.
// Does not throw Error.
std::vector<PackedBatch> pack(const Sequences& sequences, int64_t capacity_tokens,
                              std::span<const DuplicateSequence> left_out = {});

}  // namespace encode
