// The activations of sentence-transformers' Dense module.
#pragma once

#include <ATen/core/Tensor.h>

#include "encode/model_directory.h"

namespace encode {

// Applies the activation to x, [B, n] float32, and returns the same shape. The bits of a row do not
// depend on the other rows. Throws no Error.
at::Tensor apply(const at::Tensor& x, DenseActivation activation);

}  // namespace encode
