// y = x W^T + b on processors with AMX; see kernels/amx.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace encode {

enum class Activation;

// Immutable; any number of threads. A row's result does not depend on how many rows there are.
class AmxLinear {
 public:
  // Nothing where the processor, the type or the width has no such path. weights [.., in_features]
  // in float32 or bfloat16, stacked to [out_features, in_features]; bias [out_features] or
  // undefined. LibTorch's float32 matmul precision is read here: highest takes three digits, high
  // two, medium one.
  static std::optional<AmxLinear> make(const std::vector<at::Tensor>& weights,
                                       const at::Tensor& bias);

  // x [T, in_features] and residual [T, out_features] or undefined, in the weight's type.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& residual,
                        Activation activation) const;

  bool quantizes() const;  // x and W to 8 bits

 private:
  AmxLinear() = default;

  std::shared_ptr<std::byte> packed_;  // in the order of the tiles
  at::Tensor bias_;                    // float32 or undefined
  at::ScalarType type_ = at::kFloat;
  int operands_ = 0;  // kernels::amx::Operands
  int64_t out_features_ = 0;
  int64_t in_features_ = 0;
};

// Whether this processor has the path at all, and may use it (kernels::capability()).
bool has_amx();

}  // namespace encode
