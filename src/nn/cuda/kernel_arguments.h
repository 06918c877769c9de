// Turns tensors into the arguments of the plugin's kernels. Only cuda_kernels.cc and
// attention_kernel.cc include this header.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "nn/cuda/cuda_kernels.h"
#include "nn/cuda/plugin.h"

namespace encode {

inline std::optional<EncodeCudaType> type_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return kEncodeCudaFloat32;
    case at::kHalf:
      return kEncodeCudaFloat16;
    case at::kBFloat16:
      return kEncodeCudaBFloat16;
    default:
      return std::nullopt;
  }
}

inline void* pointer(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr() : nullptr;
}

// Returns the cudaStream_t on which LibTorch queues its operations on the tensor. Returns null for
// a tensor on the CPU, which only tests pass. The device of the stream must be the current device
// during a launch, so each caller needs a c10::DeviceGuard.
inline void* current_stream(const at::Tensor& tensor) {
  if (!tensor.device().is_cuda()) return nullptr;
  const c10::impl::VirtualGuardImpl device(tensor.device().type());
  return device.getStreamNativeHandle(device.getStream(tensor.device()));
}

// Interprets the status that a launcher returned. Returns true if the kernel was launched, and
// false if the plugin has no code for the arguments. Throws CudaLaunchError if the launch failed.
bool launched(CudaKernel kernel, int status);

}  // namespace encode
