// Gives the row kernels (kernels/kernels.h) access to the memory of tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "kernels/kernels.h"

namespace encode {

// Returns the elements of a tensor. T must have the size of the tensor's elements. The pointer is
// valid as long as the memory of the tensor.
template <typename T>
T* rows_of(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

// Calls body(T{}). T is the type by which the row kernels name the element type `type`. Throws
// c10::Error if there are no row kernels for `type`.
template <typename Body>
void with_row_type(at::ScalarType type, const Body& body) {
  switch (type) {
    case at::kFloat:
      body(float{});
      return;
    case at::kBFloat16:
      body(kernels::BFloat16{});
      return;
    case at::kHalf:
      body(kernels::Float16{});
      return;
    default:
      TORCH_CHECK(false, "there is no CPU kernel for elements of type ", type);
  }
}

}  // namespace encode
