// Distributes the sequences of batches over other batches. Any thread may call these functions.
// They throw no Error.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "encode/batch.h"

namespace encode {

// Packs the sequences of `batches` again, into batches of at most `capacity_tokens`; see pack().
// Leaves out the sequences of the rows for which `leave_out` returns true. Each sequence keeps its
// row and its token offset. Does not throw Error.
std::vector<PackedBatch> repack(std::span<const PackedBatch> batches, int64_t capacity_tokens,
                                const std::function<bool(int64_t)>& leave_out);

// Does the same, but gives each sequence a batch of its own.
std::vector<PackedBatch> one_by_one(std::span<const PackedBatch> batches,
                                    const std::function<bool(int64_t)>& leave_out);

}  // namespace encode
