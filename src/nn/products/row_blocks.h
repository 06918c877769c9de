// Blocks with a fixed number of rows, for matrix products with a number of rows that varies. Any
// thread may call the functions. They throw no Error.
#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

#include "nn/layers/product_format.h"

namespace encode {

// The number of token rows of a block. A library may choose another kernel for another number of
// rows, and so another order of summation; the bits of a row would then depend on the other rows.
// The project's own CPU kernels (kernels/packed_product.h) accept any number of rows.
inline constexpr int64_t kCpuBlockTokens = 512;
// The rows of each product that LibTorch computes on a CPU. oneDNN's kernels compute six rows at a
// time with AVX2 and eight or sixteen with others. If the number of rows is not a multiple of this,
// the last rows have another order of sums, so the bits of a row would depend on its place.
inline constexpr int64_t kOneDnnRows = 528;

// Returns the number of token slots that a batch of `tokens` tokens should have on CPU, so that the
// products of this format fill their blocks. The result is a multiple of kCpuBlockTokens if
// LibTorch computes the matrix products, else `tokens`.
int64_t cpu_slots(int64_t tokens, ProductFormat format);
int64_t whole_blocks(int64_t tokens);  // rounds up to a multiple of kCpuBlockTokens

// Computes the product of one block. `residual` is undefined if none is added.
using BlockProduct = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& residual)>;

// Cuts x and the residual, which may be undefined, into blocks of `rows` rows. The last block is
// filled up with zeros. Returns the rows of the products of all blocks, without those of the zeros.
at::Tensor multiply_in_blocks(int64_t rows, const at::Tensor& x, const at::Tensor& residual,
                              const BlockProduct& multiply);

}  // namespace encode
