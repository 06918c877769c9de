// Fixes how cuBLAS computes matrix products on a GPU. The bits of a row must not depend on its
// place in the product, nor on the environment of the process.
#pragma once

#include <vector>

namespace encode {

// An environment variable that changes which kernel cuBLAS or LibTorch runs for a product.
struct ProductVariable {
  const char* name;
  const char* value;  // what the process must have; null: the variable must not be set
};

// Returns all of these variables. They fix the workspace of cuBLASLt at 32 MiB, because cuBLASLt
// chooses a kernel that fits the workspace.
const std::vector<ProductVariable>& product_environment();

// Sets the variables to the values of product_environment(), also if the user has set them. cuBLAS
// reads them when LibTorch's CUDA library is opened and at the first product, so this function must
// be called before. No other thread may use the environment at the same time.
void set_product_environment();

// Sets LibTorch's options for all products of the process. LibTorch's CUDA library must be open.
// - cuBLASLt computes all products, because LibTorch can forbid split sums only for cuBLASLt.
// - 16-bit products add in float32, and no sum is split between blocks of a kernel (split-K).
// - float32 products are not rounded to TF32 (except inside Linear with kFloat32High).
// LibTorch has no option against split sums in float32 products. A kernel that splits the sums of
// all rows in the same way does no harm. A kernel that splits only some rows (stream-K) does harm,
// and no option forbids such kernels. So tests/nn/cuda/products_test.cc checks on a GPU that equal
// rows get equal bits at every place.
void set_product_options();

}  // namespace encode
