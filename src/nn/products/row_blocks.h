// Blocks with a fixed number of rows, for matrix products with a number of rows that varies. Any
// thread may call the functions. They throw no Error.
#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

#include "nn/layers/product_format.h"

namespace encode {

// The number of token rows of a block. For another number of rows a library may choose another
// kernel, with another order of summation. The bits of a row would then depend on the other rows.
// The project's own CPU kernels (kernels/packed_product.h) need no blocks.
inline constexpr int64_t kProductBlockRows = 512;
// The rows of each product that LibTorch computes on a CPU. oneDNN's kernels compute six rows at a
// time with AVX2, and eight or sixteen with other instructions. This is a multiple of all three,
// because otherwise the last rows have another order of sums, and the bits of a row would depend on
// its place.
inline constexpr int64_t kOneDnnRows = 528;

// Returns the number of token slots that a batch of `tokens` tokens should have on CPU, so that the
// products of this format fill their blocks. The result is a multiple of kProductBlockRows if
// LibTorch computes the matrix products, else `tokens`.
int64_t cpu_slots(int64_t tokens, ProductFormat format);
int64_t whole_blocks(int64_t tokens);  // rounds up to a multiple of kProductBlockRows

// Computes the product of one block. `residual` is undefined if there is no residual.
using BlockProduct = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& residual)>;

// Cuts x and the residual, which may be undefined, into blocks of `rows` rows. The last block is
// filled up with rows of zeros. Returns the rows of all products, without the rows for the zeros.
at::Tensor multiply_in_blocks(int64_t rows, const at::Tensor& x, const at::Tensor& residual,
                              const BlockProduct& multiply);

}  // namespace encode
