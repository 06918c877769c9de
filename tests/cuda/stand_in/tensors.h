// Makes tensors on the stand-in's device, and CPU tensors that share their memory.
#pragma once

#include <initializer_list>

#include <ATen/core/Tensor.h>

namespace stand_in {

// Returns a CPU tensor with the same memory, or `tensor` itself if it is not on the device. For a
// tensor without elements, the result is a new empty tensor, because an operation may resize it.
at::Tensor on_cpu(const at::Tensor& tensor);

// Returns a tensor on the current device. Its memory holds NaN.
at::Tensor device_tensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type);

// Returns a copy on the current device. The copy has the same strides if `tensor` is dense.
at::Tensor to_device(const at::Tensor& tensor);

// Returns x w in float32, for CPU tensors (products.cc).
at::Tensor product(const at::Tensor& x, const at::Tensor& w);

// Counts the bytes of the tensors as read or written. An expanded tensor counts once.
void count_bytes(std::initializer_list<at::Tensor> touched);

}  // namespace stand_in
