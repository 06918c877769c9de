// Matrix products of rows in 8-bit floats. nn/fp8/fp8_rows.h describes the format.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "nn/fp8/fp8_rows.h"
#include "nn/layers/launches.h"

namespace encode {

// Both functions return x weight^T + bias, [T, out_features]. A row of `weight` belongs to one
// output feature; `bias` is [out_features] or undefined. Any number of threads may call them.
//
// scaled_product() returns bfloat16 numbers, which at::_scaled_mm() computes in `launches`. It
// needs a device with 8-bit floats and a bias of bfloat16. The device determines the precision of
// the sums: on sm_90 they keep about 14 bits between float32 partial sums.
at::Tensor scaled_product(const Fp8Rows& x, const Fp8Rows& weight, const at::Tensor& bias,
                          const Launches& launches);
// float_product() multiplies the same values in float32, on any device.
at::Tensor float_product(const Fp8Rows& x, const Fp8Rows& weight, const at::Tensor& bias);

// Compares at::_scaled_mm() on `device` with a float32 matrix product of the same values, for small
// random input. Returns "" if they agree within rounding, else the reason why 8-bit floats must not
// be used on the device. Waits for the device. Throws c10::Error if the device fails.
std::string check_fp8_product(at::Device device);

}  // namespace encode
