// The kind of a device: devices of one kind give equal rows equal bits.
#pragma once

#include <string>

#include "encode/device.h"
#include "encode/error.h"
#include "encode/store.h"

namespace encode {

ChunkOrigin origin_of(const DeviceFacts& device);  // without ChunkOrigin::batch_tokens
// Returns "NVIDIA H200, LibTorch 2.11.0, driver 580.65.06", and the hash of the chosen algorithms
// of the matrix products if there is one.
std::string describe(const ChunkOrigin& origin);
// The Error kConfig "run.other_device" for a chunk at `path` that was computed elsewhere than
// `here`.
Error other_device_error(const ChunkOrigin& here, const ChunkOrigin& chunk, std::string path);

}  // namespace encode
