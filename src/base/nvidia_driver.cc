#include "base/nvidia_driver.h"

#include <dlfcn.h>
#include <filesystem>
#include <utility>

namespace encode {

// The library is never closed, because LibTorch may use it later.
bool has_nvidia_driver() {
  std::error_code unknown;  // if the file cannot be looked at, dlopen() below decides
  return std::filesystem::exists(kNvidiaVersionFile, unknown) ||
         ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

Error absent_device(std::string wanted, std::string found, std::string hint) {
  return Error({.code = "device.absent",
                .what = "the device asked for is not there",
                .where = "--device (hardware.device)",
                .expected = std::move(wanted),
                .found = std::move(found),
                .hint = std::move(hint)});
}

Error no_nvidia_driver(const DeviceChoice& device) {
  return absent_device(to_string(device), "no NVIDIA driver on this machine",
                       "use a machine with an NVIDIA GPU and its driver, or --device cpu");
}

}  // namespace encode
