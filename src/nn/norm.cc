#include "nn/norm.h"

#include <utility>

#include <ATen/ops/_fused_rms_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>

#include "nn/cpu_rows.h"

namespace encode {
namespace {

// Calls kernel(row) for each row of x [T, n], which must be dense.
template <typename Pick>
at::Tensor for_each_row(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        double eps, const Pick& pick) {
  const at::Tensor in = x.contiguous();
  at::Tensor y = at::empty_like(in);
  const int64_t n = in.size(-1);
  with_row_type(in.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const auto kernel = pick(kernels::kernels().template rows<T>());
    kernels::NormRow<T> row = {.x = rows_of<const T>(in),
                               .weight = rows_of<const T>(weight),
                               .bias = bias.defined() ? rows_of<const T>(bias) : nullptr,
                               .n = n,
                               .eps = static_cast<float>(eps),
                               .y = rows_of<T>(y)};
    for (int64_t t = in.numel() / n; t > 0; --t, row.x += n, row.y += n) kernel(row);
  });
  return y;
}

}  // namespace

LayerNorm::LayerNorm(at::Tensor weight, at::Tensor bias, double eps)
    : weight_(std::move(weight)), bias_(std::move(bias)), eps_(eps) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  if (!x.device().is_cpu()) return at::layer_norm(x, {x.size(-1)}, weight_, bias_, eps_);
  return for_each_row(x, weight_, bias_, eps_, [](const auto& rows) { return rows.layer_norm; });
}

RmsNorm::RmsNorm(at::Tensor weight, double eps) : weight_(std::move(weight)), eps_(eps) {}

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
  if (x.scalar_type() != weight_.scalar_type())
    return (*this)(x.to(weight_.scalar_type())).to(x.scalar_type());
  // On CPU LibTorch composes it of five passes over memory.
  if (!x.device().is_cpu()) return std::get<0>(at::_fused_rms_norm(x, {x.size(-1)}, weight_, eps_));
  return for_each_row(x, weight_, {}, eps_, [](const auto& rows) { return rows.rms_norm; });
}

}  // namespace encode
