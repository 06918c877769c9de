// The linear layer y = x W^T + b in 8-bit floats. nn/fp8/fp8_rows.h describes the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/fp8/fp8_rows.h"
#include "nn/layers/launches.h"

namespace encode {

// Immutable; any number of threads may use it. W and x are quantized row by row, so there is one
// scale for each output feature and one for each token. On CUDA the values are multiplied by
// at::_scaled_mm(), which needs a device with 8-bit floats. The device determines the precision of
// the sums: on sm_90 they keep about 14 bits between float32 partial sums. On CPU, which only tests
// use, the same values are multiplied in float32.
class Fp8Linear {
 public:
  // Quantizes weights. Returns nullopt if in_features or out_features is not a multiple of
  // kFp8WidthStep, which the tensor cores need. Each weight is [.., in_features], and together they
  // are stacked to [out_features, in_features]. `bias` is [out_features] or undefined. Weights and
  // bias have the same type, which must be bfloat16 on CUDA.
  static std::optional<Fp8Linear> make(const std::vector<at::Tensor>& weights,
                                       const at::Tensor& bias);

  // Returns x W^T + b, [T, out_features] in the type of the weights. x is [T, in_features]; its
  // plain rows must have the type of the weights. A GPU computes them in these launches.
  at::Tensor operator()(const LinearInput& x, const Launches& launches = {}) const;

 private:
  Fp8Linear() = default;

  Fp8Rows weight_;
  at::Tensor bias_;
  at::ScalarType type_ = at::kBFloat16;
};

// Compares at::_scaled_mm() on `device` with a float32 matrix product of the same values, for small
// random input. Returns "" if they agree within rounding, else the reason why 8-bit floats must not
// be used on the device. Waits for the device. Throws c10::Error if the device fails.
std::string check_fp8_product(at::Device device);

}  // namespace encode
