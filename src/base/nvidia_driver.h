// Finds out whether this machine has an NVIDIA driver. Any thread may call these functions.
#pragma once

#include <string>

#include "encode/device.h"
#include "encode/error.h"

namespace encode {

// Returns true if the kernel module of the driver is loaded, or if its library can be opened: in
// WSL and in some containers the module is not visible. Uses no GPU. Throws no Error.
bool has_nvidia_driver();

// The file with the version of the kernel module, if it is loaded.
inline constexpr const char* kNvidiaVersionFile = "/proc/driver/nvidia/version";

// The code of a worker's error if LibTorch's allocator could not ask NVML, which it needs for
// expandable segments. The next worker does without them.
inline constexpr ErrorCode kNvmlFailure = "device.nvml";

// Makes the Error kUnavailable "device.absent". `wanted` are the devices that were asked for.
Error absent_device(std::string wanted, std::string found, std::string hint);

// Makes absent_device() for a GPU that was asked for on a machine without a driver.
Error no_nvidia_driver(const DeviceChoice& device);

}  // namespace encode
