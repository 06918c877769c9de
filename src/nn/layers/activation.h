// The element-wise functions between a transformer's products.
#pragma once

#include <ATen/core/Tensor.h>

#include "nn/fp8/rows.h"

namespace encode {

enum class Activation { kNone, kGelu, kGeluTanh, kRelu, kSilu };

// The activation alone, element by element. kGelu is the exact erf form.
at::Tensor activate(const at::Tensor& x, Activation activation);

// The same, over a product that nobody else holds: the result may lie where x did.
at::Tensor activate_product(at::Tensor x, Activation activation);
// The same for a product that takes 8-bit floats: quantized if one kernel does both.
LinearInput activate_for_product(at::Tensor x, Activation activation);

// The gate of a GLU (Shazeer 2020): gate_up [T, 2 x n] -> activation(gate_up[:, :n]) x
// gate_up[:, n:], [T, n].
at::Tensor apply_gate(const at::Tensor& gate_up, Activation activation);
LinearInput apply_gate_for_product(const at::Tensor& gate_up, Activation activation);

}  // namespace encode
