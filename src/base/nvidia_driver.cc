#include "base/nvidia_driver.h"

#include <dlfcn.h>
#include <filesystem>

namespace encode {

// The library is never closed, because LibTorch may use it later.
bool has_nvidia_driver() {
  std::error_code unknown;  // the library decides
  return std::filesystem::exists("/proc/driver/nvidia/version", unknown) ||
         ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

Error no_nvidia_driver(const DeviceChoice& device) {
  return Error({.code = "device.absent",
                .what = "the device asked for is not there",
                .where = "hardware.device",
                .expected = to_string(device),
                .found = "no NVIDIA driver on this machine",
                .hint = "use a machine with an NVIDIA GPU and its driver, or --device cpu"});
}

}  // namespace encode
