// The number formats in which matrix products are computed. A layer gets its format when it is
// constructed and keeps it.
#pragma once

#include <cstdint>

#include <c10/core/ScalarType.h>

#include "nn/layers/launches.h"

namespace encode {

// The format of the operands of a matrix product. The sums are float32, but sums of 8-bit integers
// are exact.
enum class ProductFormat {
  kFloat32,      // as exact as float32 arithmetic
  kFloat32High,  // float32 with fewer bits: two digits on AMX, TF32 on a GPU, else as kFloat32
  kBFloat16,
  kFloat16,
  kInt8,  // float32, quantized row by row; only on a CPU for which linear_kernel() has a kernel
  kFp8,   // quantized row by row, or as kBFloat16 if Fp8Linear does not support the widths
};

// Returns the type of the weights, inputs and results of a matrix product of the format.
inline at::ScalarType compute_type(ProductFormat format) {
  switch (format) {
    case ProductFormat::kBFloat16:
    case ProductFormat::kFp8:
      return at::kBFloat16;
    case ProductFormat::kFloat16:
      return at::kHalf;
    case ProductFormat::kFloat32:
    case ProductFormat::kFloat32High:
    case ProductFormat::kInt8:
      break;
  }
  return at::kFloat;
}

// Returns the format with operands of `type`, which is float32, bfloat16 or float16.
inline ProductFormat format_of(at::ScalarType type) {
  if (type == at::kBFloat16) return ProductFormat::kBFloat16;
  return type == at::kHalf ? ProductFormat::kFloat16 : ProductFormat::kFloat32;
}

class ProductTrace;

// The options of all matrix products of a model.
struct ProductOptions {
  ProductFormat format = ProductFormat::kFloat32;
  Launches launches = {};  // of a GPU; a CPU has blocks of its own (Linear)
  // Records each matrix product. Must outlive the layers. May be null.
  ProductTrace* trace = nullptr;
};

}  // namespace encode
