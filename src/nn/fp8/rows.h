// Rows in 8-bit floats: e4m3 values (1 + 4 + 3 bits, no infinity, largest value 448; Micikevicius
// et al. 2022) with one scale a row.
#pragma once

#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "nn/fp8/format.h"

namespace encode {

// Row r of `values` times scale[r] is the row that was quantized.
struct Fp8Rows {
  at::Tensor values;  // [T, n] e4m3, dense
  at::Tensor scale;   // [T, 1] float32
};

// x [T, n] float32, bfloat16 or float16. For each row, in float32:
//   scale = max(largest magnitude, kFp8LeastMagnitude) / kFp8Largest
//   value = x * (kFp8Largest / the same magnitude), rounded to nearest even
// A row that holds an infinity or a NaN has a scale that is not finite, and so every product with
// it is not finite. The bits of a row depend on the row alone. By the plugin's kernel where it may
// be used, else by LibTorch's operations, to the same bits.
Fp8Rows quantize_rows(const at::Tensor& x);
Fp8Rows quantize_rows_by_operations(const at::Tensor& x);

at::Tensor dequantize(const Fp8Rows& rows);  // [T, n] float32

// Room for quantized rows, `sizes` [T, n], on the device of `like`.
Fp8Rows empty_fp8_rows(at::IntArrayRef sizes, const at::Tensor& like);

// What a product reads: rows as they are, or quantized already by the kernel that made them.
struct LinearInput {
  LinearInput(at::Tensor plain) : rows(std::move(plain)) {}
  LinearInput(at::Tensor plain, Fp8Rows quantized)
      : rows(std::move(plain)), fp8(std::move(quantized)) {}

  at::Tensor rows;             // [T, n] in the compute type; undefined: fp8 alone is there
  std::optional<Fp8Rows> fp8;  // the same rows
};

}  // namespace encode
