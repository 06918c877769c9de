// Whether this machine has an NVIDIA driver.
#pragma once

#include "encode/device.h"
#include "encode/error.h"

namespace encode {

// Looks for the kernel module of the driver, and for its library where the module does not show, as
// in WSL and in some containers. Uses no GPU. Throws no Error.
bool has_nvidia_driver();

// The Error kUnavailable "device.absent" for a GPU that was asked for on a machine without a
// driver.
Error no_nvidia_driver(const DeviceChoice& device);

}  // namespace encode
