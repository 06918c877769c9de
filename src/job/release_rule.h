// Decides, at the end of a chunk, whether the worker gives unused device memory back.
#pragma once

#include <cstdint>

#include "encode/device.h"

namespace encode {

// LibTorch's caching allocator keeps the memory of freed tensors for later ones. A batch needs as
// much of it as the batch before, so this memory stays, and no chunk waits for a release. What the
// allocator keeps beyond the working set of one batch goes back to the device: for example after a
// batch with a row that is longer than a batch, or if the memory is fragmented.
//
// The working set is measured: the batches run one after the other, so it is the unused memory at
// the end of the first chunk after a full release. The largest measurement counts, because a window
// may have no full batch. One object serves one stream, which must begin without unused memory. Not
// thread-safe.
class ReleaseRule {
 public:
  // What the allocator may keep beyond the working set: a quarter of it, because batches of other
  // rows split the memory in other ways, and at least a few of the allocator's segments, which have
  // 2 or 20 MiB.
  static constexpr int64_t kShare = 4;
  static constexpr int64_t kSlackBytes = int64_t{64} << 20;

  // Must be called at the end of each chunk. Returns true if the caller must release all unused
  // memory now.
  bool due(const DeviceMemory& memory);

 private:
  int64_t working_set_ = 0;
  bool measures_ = true;  // the memory was released since the last border, or never used
};

}  // namespace encode
