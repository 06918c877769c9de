// Tensors of the stand-in's device and the host's view of their memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace stand_in {

// The same memory as a tensor of the CPU; `tensor` itself if it is not on the device. A tensor
// without elements comes back as one of its own, because an operation may resize it.
at::Tensor on_cpu(const at::Tensor& tensor);

// A tensor of the current device; its memory holds NaN.
at::Tensor device_tensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type);

// A copy on the current device; strides as those of `tensor` if it is dense.
at::Tensor to_device(const at::Tensor& tensor);

}  // namespace stand_in
