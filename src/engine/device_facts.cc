#include "engine/device_facts.h"

#include <fmt/format.h>
#include <fstream>
#include <regex>
#include <string>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include "base/host.h"
#include "base/nvidia_driver.h"
#include "kernels/kernels.h"
#include "nn/cuda/cuda_device.h"

namespace encode {
namespace {

// Returns the version of the library that is loaded. It may differ from the version that encode was
// built with. The highest three bytes are major, minor and patch.
std::string libtorch_version() {
  const uint64_t version = aoti_torch_abi_version();
  const auto byte = [version](unsigned shift) { return (version >> shift) & 0xffU; };
  return fmt::format("{}.{}.{}", byte(56), byte(48), byte(40));
}

// Reads a file that begins with "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ...".
// Returns "" if the file does not exist, because then the driver is not NVIDIA's kernel module.
std::string driver_version() {
  std::string line;
  std::getline(std::ifstream(kNvidiaVersionFile), line);
  std::smatch found;
  const bool known = std::regex_search(line, found, std::regex(R"([0-9]+\.[0-9]+(\.[0-9]+)?)"));
  return known ? found.str() : "";
}

}  // namespace

int64_t compute_threads(c10::Device device, int64_t threads) {
  if (!device.is_cpu()) return 1;
  return threads_or_quota(threads);
}

DeviceFacts device_facts(c10::Device device, int64_t threads) {
  if (device.is_cpu()) {
    return {.kind = DeviceKind::kCpu,
            .name = fmt::format("cpu ({})", kernels::to_string(kernels::capability())),
            .place = "cpu",
            .libtorch = libtorch_version(),
            .driver = "",
            .threads = threads};
  }
  return {.kind = DeviceKind::kCuda,
          .name = device_description(device),
          .place = device.str(),
          .libtorch = libtorch_version(),
          .driver = driver_version(),
          .threads = threads,
          .places = visible_devices()};
}

}  // namespace encode
