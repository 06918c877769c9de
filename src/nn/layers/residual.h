// The sum to which the layers of a transformer add their results.
#pragma once

#include <ATen/core/Tensor.h>

namespace encode {

// Stands for the value sum + term. On CPU the last linear layer adds its result to the residual
// itself, so there is no term. On CUDA its result stays in `term`, and the kernel of the next norm
// adds the two. This costs nothing, because the norm has to read the sum in any case.
struct ResidualSum {
  at::Tensor sum;        // [T, hidden_size]
  at::Tensor term = {};  // the same shape, with no other owner; undefined if there is no term

  // Adds the term to the sum, if there is one, and returns the sum.
  const at::Tensor& total() {
    if (term.defined()) {
      sum = term.add_(sum);
      term.reset();
    }
    return sum;
  }
};

}  // namespace encode
