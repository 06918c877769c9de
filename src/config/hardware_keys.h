// The keys of the devices and of the host.
#pragma once

#include <vector>

#include "config/schema.h"

namespace encode {

// In the place of a list of devices: every CUDA device.
inline constexpr const char* kAllDevices = "all";

std::vector<KeySpec> hardware_keys();

}  // namespace encode
