// The formats of the operands of products. A layer gets its format when it is constructed, and
// nothing else changes the format.
#pragma once

#include <cstdint>

#include <c10/core/ScalarType.h>

namespace encode {

// The operands of a product. The sums are float32, but sums of 8-bit integers are exact.
enum class ProductFormat {
  kFloat32,      // as exact as float32 arithmetic
  kFloat32High,  // float32 with fewer bits: two digits on AMX, TF32 on a GPU, else as kFloat32
  kBFloat16,
  kFloat16,
  kInt8,  // float32 that is quantized row by row; only on a CPU for which linear_kernel() has it
  kFp8,   // quantized row by row (Fp8Linear); kBFloat16 if the widths of the product do not fit
};

// The type of the weights and of the activations around a product of the format.
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

// The format with operands of `type`, which is float32, bfloat16 or float16.
inline ProductFormat format_of(at::ScalarType type) {
  if (type == at::kBFloat16) return ProductFormat::kBFloat16;
  return type == at::kHalf ? ProductFormat::kFloat16 : ProductFormat::kFloat32;
}

class ProductTrace;

// The options of the products of all layers of a model.
struct ProductOptions {
  ProductFormat format = ProductFormat::kFloat32;
  // If above 0, a product on a GPU runs in launches of exactly this number of rows, and its number
  // of rows is a multiple of it. BatchPlan::launch_tokens explains launches.
  int64_t launch_rows = 0;
  ProductTrace* trace = nullptr;  // records each product; must outlive the layers
};

}  // namespace encode
