// From tensors to the element types of the row kernels.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "kernels/kernels.h"

namespace encode {

template <typename T>
T* rows_of(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

// Calls body(T{}) with the row type of a CPU tensor's element type.
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
      TORCH_CHECK(false, "no CPU kernel for ", type);
  }
}

}  // namespace encode
