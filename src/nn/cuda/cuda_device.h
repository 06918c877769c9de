// Opens the CUDA device and asks for its properties. LibTorch's CUDA libraries and the project's
// own plugin are opened at run time, so one build runs with and without CUDA.
#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

#include "encode/config.h"
#include "encode/device.h"

struct EncodeCudaKernels;

namespace encode {

struct OpenedDevice {
  c10::Device device;
  std::string warning;  // why "auto" did not take the GPU of this machine, or ""
};

// Returns the device for "auto", "cpu", "cuda" or "cuda:N", ready for use. For a CUDA device it
// opens LibTorch's CUDA libraries and the plugin. If a library or the device is missing, "auto"
// returns the CPU, and "cuda" throws Error kUnavailable, which says what is missing.
//
// For every choice but "cpu" it first changes the environment of the process: it sets the allocator
// settings and product_environment(), and CUDA_LAUNCH_BLOCKING=1 if options.synchronous_launches is
// true. It then also throws what allocator_settings() throws. Call it once in a process, before any
// other CUDA call, and while no other thread uses the environment.
OpenedDevice open_device(const HardwareOptions& options);

// Returns the number of CUDA devices that the process sees (CUDA_VISIBLE_DEVICES), after
// open_device() has opened one of them.
int64_t visible_devices();
std::string device_description(c10::Device device);  // "NVIDIA H100 80GB HBM3"; "cpu"
std::string compute_capability(c10::Device device);  // "9.0"; "" on CPU
bool supports_flash_attention(c10::Device device);   // true if the compute capability is >= 8.0
bool supports_bfloat16(c10::Device device);          // true if it is >= 8.0, and on CPU
// Returns true if the compute capability is >= 9.0. GPUs with 8.9 also have fp8 products, but there
// LibTorch's products with a scale for each row split the sums by the place of the row (stream-K),
// so a row's bits would depend on the other rows of its batch.
bool supports_fp8(c10::Device device);
// Returns the plugin's kernels, or null if open_device() has not opened the plugin.
const EncodeCudaKernels* plugin_kernels();
// Waits for all work on the device. Throws c10::Error if the device has failed.
void synchronize(c10::Device device);
// Returns the allocator's unused memory to the device. Ignores errors.
void release_cached_memory(c10::Device device) noexcept;
DeviceMemory device_memory(c10::Device device);  // all zero on CPU

}  // namespace encode
