// The sum to which the layers of a transformer add their results.
#pragma once

#include <ATen/core/Tensor.h>

namespace encode {

// The value sum + term. If a product has added the residual to its result, there is no term. On
// CUDA a product with a bias or in 8-bit floats cannot add the residual. Its result is then the
// term, and the kernel of the next norm adds the term. Not thread-safe.
struct ResidualSum {
  at::Tensor sum;        // [T, hidden_size]
  at::Tensor term = {};  // the same shape, with no other owner; undefined if there is no term

  // Adds the term to the sum, if it is defined. Returns the sum.
  const at::Tensor& total() {
    if (term.defined()) {
      sum = term.add_(sum);
      term.reset();
    }
    return sum;
  }
};

}  // namespace encode
