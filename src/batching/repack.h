// Distributes the sequences of batches over other batches. Any thread may call these functions.
// They throw no Error.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "encode/batch.h"

namespace encode {

// Packs the sequences of `batches` again, into batches of `capacity_tokens`; see best_fit().
// Leaves out the sequences for whose number `leave_out` returns true. Each sequence keeps its
// number and the places of its vectors.
std::vector<PackedBatch> repack(std::span<const PackedBatch> batches, int64_t capacity_tokens,
                                const std::function<bool(int64_t)>& leave_out);

// Does the same, but gives each sequence a batch of its own.
std::vector<PackedBatch> one_by_one(std::span<const PackedBatch> batches,
                                    const std::function<bool(int64_t)>& leave_out);

}  // namespace encode
