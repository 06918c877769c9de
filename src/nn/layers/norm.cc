#include "nn/layers/norm.h"

#include <optional>
#include <utility>

#include <ATen/ops/_fused_rms_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>

#include "nn/cpu/rows.h"
#include "nn/cuda/cuda_kernels.h"
#include "nn/layers/linear.h"

namespace encode {
namespace {

// The parameters of a norm. `bias` is undefined for an RMS norm.
struct NormParameters {
  const at::Tensor& weight;
  const at::Tensor& bias;
  double eps;
};

// Normalizes each row of x [T, n]. pick(table) chooses the kernel from `table`, the row kernels for
// the type of x.
template <typename Pick>
at::Tensor for_each_row(const at::Tensor& x, const NormParameters& norm, const Pick& pick) {
  const at::Tensor in = x.contiguous();
  at::Tensor y = at::empty_like(in);
  const int64_t n = in.size(-1);
  with_row_type(in.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const auto kernel = pick(kernels::kernels().template rows<T>());
    kernels::NormRow<T> row = {.x = rows_of<const T>(in),
                               .weight = rows_of<const T>(norm.weight),
                               .bias = norm.bias.defined() ? rows_of<const T>(norm.bias) : nullptr,
                               .n = n,
                               .eps = static_cast<float>(norm.eps),
                               .y = rows_of<T>(y)};
    for (int64_t t = in.numel() / n; t > 0; --t, row.x += n, row.y += n) kernel(row);
  });
  return y;
}

// Normalizes x.sum + x.term with one kernel of the CUDA plugin, and writes the outputs that `call`
// asks for. If `keep` is true, the kernel also stores the sum of both in the memory of x.term,
// which nobody else holds, and x.sum becomes this tensor. Returns false, and does nothing, if the
// plugin has no kernel for it.
bool run_fused(CudaKernel kind, CudaNorm& call, ResidualSum& x, bool keep) {
  call.x = x.sum;
  if (x.term.defined()) {
    call.x = x.term;
    call.residual = x.sum;
    if (keep) call.sum = x.term;
  }
  if (!cuda_kernels().norm(kind, call)) return false;
  if (keep && x.term.defined()) x = {std::move(x.term)};
  return true;
}

bool may_fuse(const ResidualSum& x) { return x.sum.device().is_cuda() && x.sum.is_contiguous(); }

}  // namespace

Norm::Norm(CudaKernel kind, at::Tensor weight, at::Tensor bias, double eps)
    : kind_(kind), weight_(std::move(weight)), bias_(std::move(bias)), eps_(eps) {}

// Returns the normalized sum, or an undefined tensor if the CUDA plugin has no kernel for it.
at::Tensor Norm::fused(ResidualSum& x, bool keep) const {
  if (!may_fuse(x)) return {};
  CudaNorm call = {.weight = weight_, .bias = bias_, .eps = eps_, .y = at::empty_like(x.sum)};
  return run_fused(kind_, call, x, keep) ? call.y : at::Tensor();
}

// Returns the normalized sum, quantized for `next`. Returns nullopt if `next` does not take 8-bit
// floats or the CUDA plugin has no kernel for it. If `keep` is false, the result also has plain
// rows, because the next residual is the normalized sum.
std::optional<LinearInput> Norm::fused_fp8(ResidualSum& x, bool keep, const Linear& next) const {
  if (!next.takes_fp8() || !may_fuse(x)) return std::nullopt;
  CudaNorm call = {.weight = weight_, .bias = bias_, .eps = eps_};
  call.fp8 = empty_fp8_rows(x.sum.sizes(), x.sum);
  if (!keep) call.y = at::empty_like(x.sum);
  if (!run_fused(kind_, call, x, keep)) return std::nullopt;
  return LinearInput(call.y, *call.fp8);
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  if (!x.device().is_cpu()) {
    ResidualSum alone = {x};
    if (const at::Tensor y = fused(alone, /*keep=*/false); y.defined()) return y;
  }
  return kind_ == CudaKernel::kLayerNorm ? layer_norm(x) : rms_norm(x);
}

at::Tensor Norm::layer_norm(const at::Tensor& x) const {
  if (!x.device().is_cpu()) return at::layer_norm(x, {x.size(-1)}, weight_, bias_, eps_);
  return for_each_row(x, {weight_, bias_, eps_}, [](const auto& rows) { return rows.layer_norm; });
}

at::Tensor Norm::rms_norm(const at::Tensor& x) const {
  if (x.scalar_type() != weight_.scalar_type())
    return (*this)(x.to(weight_.scalar_type())).to(x.scalar_type());
  // On CPU the project's own kernel runs, because LibTorch would make five passes over memory.
  if (!x.device().is_cpu()) return std::get<0>(at::_fused_rms_norm(x, {x.size(-1)}, weight_, eps_));
  return for_each_row(x, {weight_, {}, eps_}, [](const auto& rows) { return rows.rms_norm; });
}

at::Tensor Norm::operator()(ResidualSum x) const {
  const at::Tensor y = fused(x, /*keep=*/false);
  return y.defined() ? y : (*this)(x.total());
}

at::Tensor Norm::settle(ResidualSum& x) const {
  const at::Tensor y = fused(x, /*keep=*/true);
  return y.defined() ? y : (*this)(x.total());
}

LinearInput Norm::for_product(ResidualSum x, const Linear& next) const {
  if (auto both = fused_fp8(x, /*keep=*/false, next)) return *both;
  return (*this)(std::move(x));
}

LinearInput Norm::settle_for_product(ResidualSum& x, const Linear& next) const {
  if (auto rows = fused_fp8(x, /*keep=*/true, next)) return *rows;
  return settle(x);
}

LayerNorm::LayerNorm(at::Tensor weight, at::Tensor bias, double eps)
    : Norm(CudaKernel::kLayerNorm, std::move(weight), std::move(bias), eps) {}

RmsNorm::RmsNorm(at::Tensor weight, double eps)
    : Norm(CudaKernel::kRmsNorm, std::move(weight), {}, eps) {}

void RmsNorm::in_place(const at::Tensor& x) const {
  const CudaNorm call = {.x = x, .weight = weight(), .eps = eps(), .y = x};
  if (x.device().is_cuda() && cuda_kernels().norm(CudaKernel::kRmsNorm, call)) return;
  x.copy_((*this)(x));
}

}  // namespace encode
