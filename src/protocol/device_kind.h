// The kind of a device: devices of one kind give equal rows equal bits. Any thread may call the
// functions. They throw no Error.
#pragma once

#include <string>

#include "encode/device.h"
#include "encode/error.h"
#include "encode/store.h"

namespace encode {

// Must be increased if a new version of encode computes other bits on a GPU and the same bits on a
// CPU. Chunks and cached vectors of a CPU do not have this number, so they stay valid. If the bits
// change on every device, Fingerprint::kVersion and kNumericsVersion must be increased instead.
inline constexpr int64_t kCudaNumericsVersion = 2;

ChunkOrigin origin_of(const DeviceFacts& device);  // leaves ChunkOrigin::batch_tokens at 0
// Returns "NVIDIA H200, LibTorch 2.11.0, driver 580.65.06", then the hash of the chosen algorithms
// of the matrix products and the CUDA kernels if the origin has them.
std::string describe(const ChunkOrigin& origin);
// Makes the Error kConfig "run.other_device" for a chunk at `path` that was computed on another
// kind of device than `here`.
Error other_device_error(const ChunkOrigin& here, const ChunkOrigin& chunk, std::string path);

}  // namespace encode
