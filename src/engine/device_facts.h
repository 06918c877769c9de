// Facts about a device, for the log and for the records of the store.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "encode/device.h"

namespace encode {

// Returns the number of CPU threads that compute: `threads` of EncoderOptions, or the container's
// CPU quota if `threads` is 0. Always 1 on a GPU, because one thread queues all work of the GPU.
int64_t compute_threads(c10::Device device, int64_t threads);

// `threads` is what compute_threads() returned. Throws c10::Error if the device fails.
DeviceFacts device_facts(c10::Device device, int64_t threads);

}  // namespace encode
