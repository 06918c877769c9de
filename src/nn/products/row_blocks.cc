#include "nn/products/row_blocks.h"

#include <algorithm>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>

namespace encode {

int64_t cpu_slots(int64_t tokens, ProductFormat format) {
  return linear_kernel(format) ? tokens : whole_blocks(tokens);
}

int64_t whole_blocks(int64_t tokens) {
  return (tokens + kProductBlockRows - 1) / kProductBlockRows * kProductBlockRows;
}

at::Tensor multiply_in_blocks(int64_t rows, const at::Tensor& x, const at::Tensor& residual,
                              const BlockProduct& multiply) {
  const int64_t tokens = x.size(0);
  if (tokens == rows) return multiply(x, residual);
  std::vector<at::Tensor> parts;
  for (int64_t begin = 0; begin < tokens; begin += rows) {
    const int64_t size = std::min(rows, tokens - begin);
    const auto cut = [&](const at::Tensor& whole) {
      const at::Tensor part = whole.narrow(0, begin, size);
      return size == rows ? part : at::constant_pad_nd(part, {0, 0, 0, rows - size});
    };
    const at::Tensor y = multiply(cut(x), residual.defined() ? cut(residual) : residual);
    parts.push_back(y.narrow(0, 0, size));
  }
  return parts.size() == 1 ? parts.front() : at::cat(parts, 0);
}

}  // namespace encode
