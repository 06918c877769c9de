// What a computation ran on, as far as it decides the bits of a result.
#pragma once

#include <cstdint>
#include <string>

namespace encode {

enum class DeviceKind { kCpu, kCuda };

struct DeviceFacts {
  DeviceKind kind = DeviceKind::kCpu;
  // The same name for all devices that give the same bits: "cpu (avx512bf16)", "NVIDIA H200".
  std::string name = {};
  std::string place = {};     // "cpu", "cuda:0"
  std::string libtorch = {};  // version, "2.11.0"
  std::string driver = {};    // version of the GPU's driver, "580.65.06"; "" on a CPU
  int64_t threads = 1;        // CPU threads that compute; 1 on a GPU

  bool operator==(const DeviceFacts&) const = default;
};

// "cpu (avx512bf16)", "cuda:0 NVIDIA H200".
std::string describe(const DeviceFacts& device);

// What memory a device holds, for the log. All numbers are bytes, and zero on a CPU.
struct DeviceMemory {
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t peak_allocated_bytes = 0;
  int64_t total_bytes = 0;

  bool operator==(const DeviceMemory&) const = default;
};

}  // namespace encode
