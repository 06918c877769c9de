// What the operands of a layer's product are. A layer is told its format when it is made, and
// nothing else decides it.
#pragma once

#include <cstdint>

#include <c10/core/ScalarType.h>

namespace encode {

// The operands of a product; sums are float32, except that products of 8-bit integers are summed
// exactly.
enum class ProductFormat {
  kFloat32,      // as exact as float32 arithmetic
  kFloat32High,  // float32 with fewer bits: two digits on AMX, TF32 on a GPU, else kFloat32
  kBFloat16,
  kFloat16,
  kInt8,  // float32 that is quantized row by row; CPU alone, if linear_kernel() has one
  kFp8,   // quantized row by row, see Fp8Linear; a product whose widths do not fit: kBFloat16
};

// The type of the weights and activations around such products.
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

// The format whose operands are the numbers of `type`, float32 or a type of 16 bits, as they are.
inline ProductFormat format_of(at::ScalarType type) {
  if (type == at::kBFloat16) return ProductFormat::kBFloat16;
  return type == at::kHalf ? ProductFormat::kFloat16 : ProductFormat::kFloat32;
}

class ProductTrace;

// How all layers of a model multiply.
struct ProductOptions {
  ProductFormat format = ProductFormat::kFloat32;
  // Above 0: a product on a GPU runs in launches of exactly this many rows, and the rows that it is
  // given are a multiple of it. See BatchPlan::launch_tokens.
  int64_t launch_rows = 0;
  ProductTrace* trace = nullptr;  // is told of each product; must outlive the layers
};

}  // namespace encode
