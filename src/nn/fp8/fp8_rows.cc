#include "nn/fp8/fp8_rows.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include "nn/cuda/cuda_kernels.h"

namespace encode {

Fp8Rows quantize_rows_by_operations(const at::Tensor& x) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor largest =
      at::amax(at::abs(wide), {1}, /*keepdim=*/true).clamp_min(kFp8LeastMagnitude);
  // `bound` is a tensor, because LibTorch divides by a plain number inexactly: it multiplies by the
  // reciprocal.
  const at::Tensor bound = at::full({1}, kFp8Largest, largest.options());
  // The largest product is 448 with a rounding error. The conversion rounds it to 448.
  return {wide.mul(bound.div(largest)).to(at::kFloat8_e4m3fn), largest.div(bound)};
}

Fp8Rows quantize_rows(const at::Tensor& x) {
  if (x.device().is_cuda()) {
    const Fp8Rows rows = empty_fp8_rows(x.sizes(), x);
    if (cuda_kernels().quantize(x, rows)) return rows;
  }
  return quantize_rows_by_operations(x);
}

Fp8Rows empty_fp8_rows(at::IntArrayRef sizes, const at::Tensor& like) {
  return {at::empty(sizes, like.options().dtype(at::kFloat8_e4m3fn)),
          at::empty({sizes[0], 1}, like.options().dtype(at::kFloat))};
}

at::Tensor dequantize(const Fp8Rows& rows) { return rows.values.to(at::kFloat).mul(rows.scale); }

}  // namespace encode
