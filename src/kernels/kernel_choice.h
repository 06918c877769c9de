// Says which kernel computes the matrix products of a type on this processor.
#pragma once

#include <optional>

#include "encode/types.h"

#include "kernels/packed_product.h"

namespace encode::kernels {

// Returns the first usable kernel for the type, or nullopt if LibTorch computes its products.
// `precision` counts only for float32. Any thread may call it. Throws what capability() throws.
std::optional<LinearKernel> kernel_for(ComputeType type, MatmulPrecision precision);

}  // namespace encode::kernels
