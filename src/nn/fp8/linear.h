// y = x W^T + b in 8-bit floats; see nn/fp8/rows.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/fp8/rows.h"

namespace encode {

// Immutable; any number of threads. W and x are quantized row by row: one scale an output feature,
// one a token. Sums are at least as wide as the device's units make them (about 14 bits between
// float32 partial sums on sm_90). On CUDA LibTorch's scaled product, which wants a device with
// 8-bit floats; on CPU, for tests, float32 products of the same values.
class Fp8Linear {
 public:
  // Nothing if a width is no multiple of 16, which the units need. weights [.., in_features],
  // stacked to [out_features, in_features]; bias [out_features] or undefined, of their type, which
  // on CUDA is bfloat16.
  static std::optional<Fp8Linear> make(const std::vector<at::Tensor>& weights,
                                       const at::Tensor& bias);

  // x [T, in_features], plain rows in the weights' type -> [T, out_features] in that type.
  // `launch_rows`: see ProductOptions.
  at::Tensor operator()(const LinearInput& x, int64_t launch_rows = 0) const;

 private:
  Fp8Linear() = default;

  Fp8Rows weight_;
  at::Tensor bias_;
  at::ScalarType type_ = at::kBFloat16;
};

// The scaled product on `device` against float32 products of the same values, on small random
// input; "" if it agrees within rounding, else why it may not be used. A fault of the device is
// thrown as c10::Error. Waits for the device.
std::string check_fp8_product(at::Device device);

}  // namespace encode
