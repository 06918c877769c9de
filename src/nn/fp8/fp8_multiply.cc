#include "nn/fp8/fp8_multiply.h"

#include <cmath>
#include <fmt/format.h>
#include <optional>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/remainder.h>

namespace encode {

at::Tensor float_product(const Fp8Rows& x, const Fp8Rows& weight, const at::Tensor& bias) {
  const at::Tensor wide_bias = bias.defined() ? bias.to(at::kFloat) : bias;
  return at::linear(dequantize(x), dequantize(weight), wide_bias);
}

// use_fast_accum is set, because sm_90 takes twice as long without it. It drops low bits of the
// sums, which do not matter for operands with four significant bits.
at::Tensor scaled_product(const Fp8Rows& x, const Fp8Rows& weight, const at::Tensor& bias,
                          const Launches& launches) {
  const int64_t all = x.values.size(0);
  at::Tensor y = at::empty({all, weight.values.size(0)}, x.values.options().dtype(at::kBFloat16));
  for_each_launch(all, launches, [&](int64_t begin, int64_t rows) {
    at::Tensor out = y.narrow(0, begin, rows);
    at::_scaled_mm_out(out, x.values.narrow(0, begin, rows), weight.values.t(),
                       x.scale.narrow(0, begin, rows), weight.scale.t(),
                       bias.defined() ? std::optional(bias) : std::nullopt,
                       /*scale_result=*/std::nullopt, at::kBFloat16, /*use_fast_accum=*/true);
  });
  return y;
}

std::string check_fp8_product(at::Device device) {
  constexpr int64_t kRows = 48;
  constexpr int64_t kIn = 512;
  constexpr int64_t kOut = 80;
  // The results are distributed like N(0, 1), and the largest is about 5. The tolerance is twice
  // the sum of two errors. First, the result is rounded to bfloat16 once or twice (2^-8 of the
  // result). Second, the sums over 512 elements keep 14 bits (2^-13 of the largest partial sum for
  // each 32 elements).
  constexpr double kTolerance = 0x1p-4;
  at::Generator generator = at::detail::createCPUGenerator(/*seed=*/20240607);
  const auto random = [&](at::IntArrayRef shape) { return at::randn(shape, generator).to(device); };
  // The rows are multiplied by different powers of two. A missing scale or the scale of another row
  // then causes a large error, and the division of the results by these powers is exact.
  const auto powers = [&](int64_t count, int64_t period) {
    // Computed on the CPU, because LibTorch compiles at::exp2() at run time on CUDA.
    const at::Tensor index = at::arange(count, at::TensorOptions().dtype(at::kFloat));
    return at::exp2(at::remainder(index, period)).unsqueeze(1).to(device);
  };
  const at::Tensor x_powers = powers(kRows, 7);
  const at::Tensor w_powers = powers(kOut, 5);
  const Fp8Rows x = quantize_rows_by_operations(random({kRows, kIn}).mul(x_powers));
  const Fp8Rows weight = quantize_rows_by_operations(
      random({kOut, kIn}).mul(w_powers).mul(1 / std::sqrt(static_cast<double>(kIn))));
  for (const at::Tensor& bias : {at::Tensor(), random({kOut}).to(at::kBFloat16)}) {
    at::Tensor found;
    try {
      found = scaled_product(x, weight, bias, /*launches=*/{}).to(at::kFloat);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    const at::Tensor error =
        found.sub(float_product(x, weight, bias)).div(x_powers).div(w_powers.t());
    const double worst = at::max(at::abs(error)).item<double>();
    if (!(worst <= kTolerance)) {  // also true for NaN
      return fmt::format(
          "its products differ from float32 products by {:f}, but rounding explains {:f} at most",
          worst, kTolerance);
    }
  }
  return "";
}

}  // namespace encode
