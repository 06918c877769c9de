// What the program needs of a CUDA device beyond tensors. The CUDA side is opened at run time, so
// that one build runs with and without it.
#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

#include "encode/config.h"
#include "encode/device.h"

struct EncodeCudaKernels;

namespace encode {

// "auto", "cpu", "cuda", "cuda:N" -> a device that is there, ready for use: opens LibTorch's CUDA
// libraries and the project's own, and applies the allocator settings before the first allocation.
// Throws Error kUnavailable for a device that is asked for by name and absent, saying which of
// driver, libraries or device is missing; "auto" falls back to CPU. Once a process, before any CUDA
// call.
c10::Device open_device(const HardwareOptions& options);

std::string device_description(c10::Device device);  // "NVIDIA H100 80GB HBM3"; "cpu"
std::string compute_capability(c10::Device device);  // "9.0"; "" on CPU
bool supports_flash_attention(c10::Device device);   // compute capability >= 8.0
bool supports_fp8(c10::Device device);               // 8.9, or >= 9.0
// The kernels of the project's own CUDA library; null until open_device() has opened it.
const EncodeCudaKernels* plugin_kernels();
void synchronize(c10::Device device);  // waits; throws c10::Error for an error on the device
void release_cached_memory(
    c10::Device device) noexcept;  // a failure is ignored: clean-up must never end a run
DeviceMemory device_memory(c10::Device device);  // zeros on CPU

// The allocator settings in force: the options merged over what PYTORCH_ALLOC_CONF says, in its
// syntax.
std::string allocator_settings(const HardwareOptions& options);

}  // namespace encode
