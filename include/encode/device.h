// The device that a computation runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace encode {

enum class DeviceKind { kCpu, kCuda };

inline constexpr int64_t kMostDeviceNumber = 99;

// A device as a config names it: "auto" (the first GPU, or the CPU if there is no GPU), "cpu",
// "cuda" or "cuda:N".
struct DeviceChoice {
  enum class Kind { kAuto, kCpu, kCuda };

  Kind kind = Kind::kAuto;
  std::optional<int64_t> number = {};  // N, 0 to kMostDeviceNumber; nullopt if the name has none

  int64_t ordinal() const { return number.value_or(0); }  // the number that CUDA has for the GPU
  bool operator==(const DeviceChoice&) const = default;
};
std::string to_string(const DeviceChoice& device);  // the name
// Returns nullopt for a text that names no device.
std::optional<DeviceChoice> find_device(std::string_view name);
// Returns the device of a name that find_device() accepts. Throws Error kInternal "internal" for
// any other text.
DeviceChoice parse_device(std::string_view name);

// A device, and the versions of the software that computes on it. `kind`, `name`, `libtorch`,
// `driver` and `kernels` can change the last bits of a result; the other members cannot.
struct DeviceFacts {
  DeviceKind kind = DeviceKind::kCpu;
  // Devices with the same name give the same bits: "cpu (avx512bf16)", "NVIDIA H200".
  std::string name = {};
  std::string place = {};     // "cpu", "cuda:0"
  std::string libtorch = {};  // the version of LibTorch, "2.11.0"
  std::string driver = {};    // the version of the GPU's driver, "580.65.06"; "" on a CPU
  int64_t threads = 1;        // the number of CPU threads that compute; 1 on a GPU
  int64_t places = 1;         // the number of GPUs that the process sees; 1 on a CPU
  // The names of encode's own CUDA kernels that are in use: "layer_norm,pool", or "off" if none is.
  // LibTorch's operations compute the rest. "" on a CPU and before a model is loaded.
  std::string kernels = {};

  bool operator==(const DeviceFacts&) const = default;
};

// Returns a text for the log: "cpu (avx512bf16)", "cuda:0 NVIDIA H200".
std::string describe(const DeviceFacts& device);

// The memory of a device, for the log. All numbers are bytes, and all are zero on a CPU.
// `allocated_bytes` is in use by tensors; `reserved_bytes` also counts the free blocks that the
// caching allocator keeps.
struct DeviceMemory {
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t peak_allocated_bytes = 0;  // the most that was allocated since the process started
  int64_t total_bytes = 0;           // the size of the device's memory

  bool operator==(const DeviceMemory&) const = default;
};

}  // namespace encode
