// y = x W^T + b by the kernels of kernels/linear.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/linear.h"
#include "nn/layers/product_format.h"

namespace encode {

enum class Activation;

// Immutable; any number of threads. A row's result does not depend on how many rows there are.
class PackedLinear {
 public:
  // Nothing where the device, the processor or the width has no such path. weights [..,
  // in_features] in the format's compute type, stacked to [out_features, in_features]; bias
  // [out_features] or undefined.
  static std::optional<PackedLinear> make(const std::vector<at::Tensor>& weights,
                                          const at::Tensor& bias, ProductFormat format);

  // x [T, in_features] and residual [T, out_features] or undefined, in the weight's type.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& residual,
                        Activation activation) const;

  bool quantizes() const;  // x and W to 8 bits

 private:
  PackedLinear() = default;

  std::shared_ptr<std::byte> packed_;  // weight_.data
  kernels::PackedWeight weight_ = {};
  at::Tensor bias_;  // float32 or undefined
  at::ScalarType type_ = at::kFloat;
};

// The kernel for products of a format on this processor; nullopt if it has none.
std::optional<kernels::LinearKernel> linear_kernel(ProductFormat format);

}  // namespace encode
