// The number formats in which matrix products are computed. A layer gets its format when it is
// constructed and keeps it. Any thread may call the functions. They throw no Error.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include <c10/core/ScalarType.h>

#include "encode/types.h"

#include "kernels/packed_product.h"
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
  kFp8,   // quantized row by row, or as kBFloat16 if a width is not a multiple of kFp8WidthStep
};

// The facts about a format.
struct ProductFormatFacts {
  ComputeType dtype;          // of the models whose products have the format
  MatmulPrecision precision;  // of these models; only float32 has a format for each precision
  at::ScalarType type;        // of the weights, inputs and results of a product
};
// In the order of ProductFormat.
inline constexpr std::array<ProductFormatFacts, 6> kProductFormats = {
    {{ComputeType::kFloat32, MatmulPrecision::kHighest, at::kFloat},
     {ComputeType::kFloat32, MatmulPrecision::kHigh, at::kFloat},
     {ComputeType::kBFloat16, MatmulPrecision::kHighest, at::kBFloat16},
     {ComputeType::kFloat16, MatmulPrecision::kHighest, at::kHalf},
     {ComputeType::kInt8, MatmulPrecision::kHighest, at::kFloat},
     {ComputeType::kFp8, MatmulPrecision::kHighest, at::kBFloat16}}};
constexpr const ProductFormatFacts& facts_of(ProductFormat format) {
  return kProductFormats.at(static_cast<size_t>(format));
}

// Returns the type of the weights, inputs and results of a matrix product of the format.
inline at::ScalarType compute_type(ProductFormat format) { return facts_of(format).type; }

// Returns the project's own kernel for products of the format on this processor, or nullopt if
// there is none.
inline std::optional<kernels::LinearKernel> linear_kernel(ProductFormat format) {
  return kernels::kernel_for(facts_of(format).dtype, facts_of(format).precision);
}

// Returns the format of the products of a model. `precision` counts only for float32.
inline ProductFormat format_of(ComputeType dtype, MatmulPrecision precision) {
  if (dtype == ComputeType::kFloat32 && precision == MatmulPrecision::kHigh)
    return ProductFormat::kFloat32High;
  const auto* const found = std::find_if(kProductFormats.begin(), kProductFormats.end(),
                                         [&](const auto& facts) { return facts.dtype == dtype; });
  return static_cast<ProductFormat>(found - kProductFormats.begin());
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
  Launches launches = {};  // on a GPU; not used on a CPU
  // Records each matrix product. Must outlive the layers. May be null.
  ProductTrace* trace = nullptr;
};

}  // namespace encode
