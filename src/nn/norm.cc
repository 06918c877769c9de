#include "nn/norm.h"

#include <utility>

#include <ATen/ops/_fused_rms_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>

#include "nn/cpu_kernels.h"

namespace encode {

LayerNorm::LayerNorm(at::Tensor weight, at::Tensor bias, double eps)
    : weight_(std::move(weight)), bias_(std::move(bias)), eps_(eps) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, {x.size(-1)}, weight_, bias_, eps_);
}

RmsNorm::RmsNorm(at::Tensor weight, double eps) : weight_(std::move(weight)), eps_(eps) {}

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
  // Fused on CUDA; on CPU LibTorch composes it of five passes over memory, so it has a kernel of
  // its own here.
  if (!x.device().is_cpu()) return std::get<0>(at::_fused_rms_norm(x, {x.size(-1)}, weight_, eps_));
  at::Tensor y = at::empty_like(x);
  cpu::rms_norm(x, weight_, static_cast<float>(eps_), y);
  return y;
}

}  // namespace encode
