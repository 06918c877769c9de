#include "nn/layers/activation.h"

#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>

#include "nn/cuda/cuda_kernels.h"

namespace encode {

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return at::gelu(x, "none");
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kNone:
      break;
  }
  return x;
}

at::Tensor activate_product(at::Tensor x, Activation activation) {
  if (activation == Activation::kNone) return x;
  if (x.device().is_cuda() && cuda_kernels().activate(x, activation, x)) return x;
  return activate(x, activation);
}

LinearInput activate_for_product(at::Tensor x, Activation activation) {
  if (x.device().is_cuda() && activation != Activation::kNone) {
    const Fp8Rows y = empty_fp8_rows(x.sizes(), x);
    if (cuda_kernels().activate(x, activation, y)) return {at::Tensor(), y};
  }
  return activate_product(std::move(x), activation);
}

LinearInput apply_gate_for_product(const at::Tensor& gate_up, Activation activation) {
  if (gate_up.device().is_cuda()) {
    const Fp8Rows y = empty_fp8_rows({gate_up.size(0), gate_up.size(1) / 2}, gate_up);
    if (cuda_kernels().gate(gate_up, activation, y)) return {at::Tensor(), y};
  }
  return apply_gate(gate_up, activation);
}

at::Tensor apply_gate(const at::Tensor& gate_up, Activation activation) {
  const int64_t width = gate_up.size(1) / 2;
  if (gate_up.device().is_cuda()) {
    const at::Tensor y = at::empty({gate_up.size(0), width}, gate_up.options());
    if (cuda_kernels().gate(gate_up, activation, y)) return y;
  }
  return activate(gate_up.narrow(1, 0, width), activation).mul_(gate_up.narrow(1, width, width));
}

}  // namespace encode
