// The activations of a transformer's MLP, and the gate of a gated MLP.
#pragma once

#include <ATen/core/Tensor.h>

#include "nn/fp8/fp8_rows.h"

namespace encode {

enum class Activation { kNone, kGelu, kGeluTanh, kRelu, kSilu };

// Applies the activation to each element. kGelu is the exact form with erf. These functions have no
// state. Any number of threads may call them, and they throw no Error, only c10::Error if the
// device fails.
at::Tensor activate(const at::Tensor& x, Activation activation);

// Applies the activation to the result of a matrix product, which only the caller holds. The result
// may overwrite x.
at::Tensor activate_product(at::Tensor x, Activation activation);
// Does what activate_product() does, if the next matrix product takes 8-bit floats. If the CUDA
// plugin has a kernel that both activates and quantizes, and this kernel may be used, the result is
// quantized. Otherwise it is not.
LinearInput activate_for_product(at::Tensor x, Activation activation);

// The gate of a GLU (Shazeer 2020). Returns activation(gate_up[:, :n]) x gate_up[:, n:], [T, n],
// for gate_up [T, 2 x n]. apply_gate_for_product() quantizes the result on the same conditions as
// activate_for_product().
at::Tensor apply_gate(const at::Tensor& gate_up, Activation activation);
LinearInput apply_gate_for_product(const at::Tensor& gate_up, Activation activation);

}  // namespace encode
