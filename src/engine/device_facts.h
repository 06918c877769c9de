// A device in the words of the log and of the records of the store.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "encode/device.h"

namespace encode {

// `threads`: CPU threads that compute; of no meaning on a GPU.
DeviceFacts device_facts(c10::Device device, int64_t threads);

}  // namespace encode
