// Matrix rows in 8-bit floats with one scale for each row. The values are e4m3: 1 sign bit, 4
// exponent bits and 3 mantissa bits, no infinity, largest value 448 (Micikevicius et al. 2022).
#pragma once

#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "nn/fp8/format.h"

namespace encode {

// Quantized rows. Row r of `values` times scale[r] approximates the original row.
struct Fp8Rows {
  at::Tensor values;  // [T, n] e4m3, dense
  at::Tensor scale;   // [T, 1] float32
};

// Quantizes x [T, n] in float32, bfloat16 or float16. For each row, in float32:
//   magnitude = max(largest magnitude of the row, kFp8LeastMagnitude)
//   scale = magnitude / kFp8Largest
//   value = x * (kFp8Largest / magnitude), rounded to the nearest e4m3 number, ties to even
// If a row has an infinity or a NaN, its scale is not finite. Every number that a matrix product
// computes from this row is then not finite either. The bits of a row depend only on the row.
//
// quantize_rows() uses the kernel of the CUDA plugin if this kernel may be used, else LibTorch's
// operations. Both give the same bits. Any number of threads may call them. They throw c10::Error
// if the device fails.
Fp8Rows quantize_rows(const at::Tensor& x);
Fp8Rows quantize_rows_by_operations(const at::Tensor& x);

at::Tensor dequantize(const Fp8Rows& rows);  // returns values x scale, [T, n] float32

// Returns uninitialized rows of `sizes` [T, n] on the device of `like`.
Fp8Rows empty_fp8_rows(at::IntArrayRef sizes, const at::Tensor& like);

// The input of a matrix product: plain rows, quantized rows, or both.
struct LinearInput {
  LinearInput(at::Tensor plain) : rows(std::move(plain)) {}
  LinearInput(at::Tensor plain, Fp8Rows quantized)
      : rows(std::move(plain)), fp8(std::move(quantized)) {}

  at::Tensor rows;             // [T, n] in the compute type; undefined if only fp8 is present
  std::optional<Fp8Rows> fp8;  // the same rows, quantized
};

}  // namespace encode
