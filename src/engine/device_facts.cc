#include "engine/device_facts.h"

#include <fmt/format.h>
#include <fstream>
#include <regex>
#include <string>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include "kernels/kernels.h"
#include "nn/cuda/device.h"

namespace encode {
namespace {

// Of the library that is loaded, which may be another than the one that this was built with: a byte
// each for major, minor and patch from the top.
std::string libtorch_version() {
  const uint64_t version = aoti_torch_abi_version();
  const auto byte = [version](unsigned shift) { return (version >> shift) & 0xffU; };
  return fmt::format("{}.{}.{}", byte(56), byte(48), byte(40));
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ..."; "" when the file is not there,
// as on a machine whose driver is not NVIDIA's kernel module.
std::string driver_version() {
  std::string line;
  std::getline(std::ifstream("/proc/driver/nvidia/version"), line);
  std::smatch found;
  const bool known = std::regex_search(line, found, std::regex(R"([0-9]+\.[0-9]+(\.[0-9]+)?)"));
  return known ? found.str() : "";
}

}  // namespace

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
          .threads = 1};
}

}  // namespace encode
