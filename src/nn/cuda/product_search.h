// Searches for the fastest of cuBLASLt's algorithms for a product, on the device.
#pragma once

#include <ATen/core/Tensor.h>

#include "nn/cuda/product_choice.h"

struct EncodeCudaProducts;

namespace encode {

// The most algorithms that cuBLASLt is asked for.
inline constexpr int kMostSuggestions = 16;

// Tries the algorithms that cuBLASLt suggests for a product with this shape on random numbers. An
// algorithm is good if
// - it runs;
// - its results are those of a float32 product, apart from rounding;
// - equal rows get equal bits, at each place that was looked at and whatever the other rows are;
// - the same product has the same bits again.
// Waits for the device. Needs device memory for the operands and two results. Throws c10::Error if
// the device fails.
ProductFinding search_product(const EncodeCudaProducts& table, const ProductShape& shape,
                              at::Device device);

// Returns true if the algorithm can compute a product with this shape. Nothing is computed.
bool can_compute(const EncodeCudaProducts& table, const ProductShape& shape,
                 const ProductAlgorithm& algorithm, at::Device device);

}  // namespace encode
