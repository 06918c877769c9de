// Decides, at the end of a chunk, whether the worker gives unused device memory back.
#pragma once

#include <cstdint>

#include "encode/device.h"

namespace encode {

// LibTorch's caching allocator keeps the memory of freed tensors for later tensors. Batches need
// about the same memory, the working set, so the allocator keeps that much, and most chunks need no
// release. If it keeps more, because a row was longer than a batch or because the memory is
// fragmented, all unused memory goes back to the device.
//
// Batches run one after the other, so the working set is the unused memory at the end of the first
// chunk after a release. The largest measurement counts, because a window may have no full batch.
// One object serves one stream, which must begin without unused memory. Not thread-safe.
class ReleaseRule {
 public:
  // The allocator may keep more than the working set: a quarter more, because batches of other rows
  // split the memory in other ways, and at least a few of its segments of 2 or 20 MiB.
  static constexpr int64_t kShare = 4;
  static constexpr int64_t kSlackBytes = int64_t{64} << 20;

  // Must be called at the end of each chunk. Returns true if the caller must release all unused
  // memory now.
  bool due(const DeviceMemory& memory);

 private:
  int64_t working_set_ = 0;
  bool measures_ = true;  // the chunk began without unused memory
};

}  // namespace encode
