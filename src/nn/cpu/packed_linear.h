// The linear layer y = x W^T + b on CPU, with the kernels of kernels/packed_product.h.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/packed_product.h"
#include "nn/layers/product_format.h"

namespace encode {

enum class Activation;

// Immutable; any number of threads may use it. The result for a row does not depend on the number
// of rows.
class PackedLinear {
 public:
  // Packs weights. Returns nullopt if the weights are not on the CPU, if the processor has no
  // kernel for the format, or if in_features is too large. Each weight is [.., in_features] in the
  // compute type of the format, and together they are stacked to [out_features, in_features]. bias
  // is [out_features] or undefined.
  static std::optional<PackedLinear> make(const std::vector<at::Tensor>& weights,
                                          const at::Tensor& bias, ProductFormat format);

  // Returns activation(x W^T + b) + residual. x is [T, in_features]; residual is [T, out_features]
  // or undefined. Both have the type of the weights.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& residual,
                        Activation activation) const;

  bool quantizes() const;  // true if x and W are quantized to 8-bit integers

 private:
  PackedLinear() = default;

  std::shared_ptr<std::byte> packed_;  // owns weight_.data
  kernels::PackedWeight weight_ = {};
  at::Tensor bias_;  // float32 or undefined
  at::ScalarType type_ = at::kFloat;
};

// Returns the kernel for matrix products of a format on this processor, or nullopt if there is
// none.
std::optional<kernels::LinearKernel> linear_kernel(ProductFormat format);

}  // namespace encode
