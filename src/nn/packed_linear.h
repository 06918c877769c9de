// y = x W^T + b by the kernels of kernels/linear.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/linear.h"

namespace encode {

enum class Activation;

// Immutable; any number of threads. A row's result does not depend on how many rows there are.
class PackedLinear {
 public:
  // Nothing where the processor, the type or the width has no such path. weights [.., in_features]
  // in float32 or bfloat16, stacked to [out_features, in_features]; bias [out_features] or
  // undefined. LibTorch's float32 matmul precision is read here: medium quantizes to int8, and high
  // takes fewer digits on tiles.
  static std::optional<PackedLinear> make(const std::vector<at::Tensor>& weights,
                                          const at::Tensor& bias);

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

// The kernel for weights of a type on this processor, at LibTorch's float32 matmul precision;
// nullopt where there is none.
std::optional<kernels::LinearKernel> linear_kernel(at::ScalarType type);
// That of dtype int8, whatever the precision.
std::optional<kernels::LinearKernel> int8_kernel();

}  // namespace encode
