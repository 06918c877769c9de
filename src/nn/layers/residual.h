// The running sum that the layers of a pre-norm transformer add to.
#pragma once

#include <ATen/core/Tensor.h>

namespace encode {

// sum + term. On CPU a product adds the residual itself and no term is ever left. On CUDA the last
// product waits in `term` until the kernel of the next norm adds it, which has to read both anyway.
struct ResidualSum {
  at::Tensor sum;        // [T, hidden_size]
  at::Tensor term = {};  // the same shape, held by nobody else; undefined: none waits

  // The whole sum, added up now if a term waits.
  const at::Tensor& total() {
    if (term.defined()) {
      sum = term.add_(sum);
      term.reset();
    }
    return sum;
  }
};

}  // namespace encode
