// The fused operations that only LibTorch's CUDA library has, computed in float32 from their
// definitions. Each operation has the argument checks that LibTorch 2.11 has for a GPU
// (ATen/native/transformers/cuda and ATen/native/cuda/Blas.cpp), so it rejects the same calls.
#include <limits>
#include <tuple>

#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/softmax.h>
#include <torch/library.h>

#include "device.h"
#include "tensors.h"

namespace stand_in {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct Attention {
  const Tensor& query;  // [T, heads, head_dim]
  const Tensor& key;
  const Tensor& value;
  const Tensor& cu_seqlens;
  const Tensor bias = {};  // [1, heads, .., ..], added to the scaled scores; or undefined. Each
                           // sequence begins at its first row and column, as in the CUDA kernel
  double scale = 1;
  int64_t left = -1;  // see AttentionWindow; -1: no limit
  int64_t right = -1;
  // FlashAttention-2 has a kernel for windows and a kernel without. They compute the same, but with
  // different bits.
  bool window_kernel = false;
};

Tensor heads_first(const Tensor& packed, int64_t begin, int64_t length, int64_t heads) {
  return on_cpu(packed)
      .narrow(0, begin, length)
      .transpose(0, 1)
      .to(at::kFloat)
      .repeat_interleave(heads / packed.size(1), 0);
}

// Returns softmax(scores) x values. Tensor cores need weights in the type of the operands, so the
// weights are rounded to this type. The windowed kernel divides the weights by their sum before
// this rounding. The other kernel divides the result instead.
Tensor weighted_values(const Tensor& scores, const Tensor& values, const Attention& call) {
  const at::ScalarType type = call.query.scalar_type();
  const auto rounded = [type](const Tensor& weights) { return weights.to(type).to(at::kFloat); };
  if (call.window_kernel) return at::bmm(rounded(at::softmax(scores, -1)), values);
  const Tensor weights = scores.sub(std::get<0>(scores.max(-1, /*keepdim=*/true))).exp();
  return at::bmm(rounded(weights), values).div(weights.sum(-1, /*keepdim=*/true));
}

// Computes attention sequence by sequence. The rows of the slots beyond the sequences stay NaN.
Tensor attend(const Attention& call) {
  TORCH_CHECK(call.cu_seqlens.scalar_type() == at::kInt && call.cu_seqlens.is_contiguous() &&
                  call.cu_seqlens.is_cuda(),
              "cu_seqlens must be contiguous int32 on the device");
  TORCH_CHECK(call.query.stride(-1) == 1 && call.key.stride(-1) == 1 && call.value.stride(-1) == 1,
              "the last dimension must be contiguous");
  TORCH_CHECK(call.query.size(1) % call.key.size(1) == 0,
              "the number of query heads must be a multiple of the number of key heads");
  const Tensor out = device_tensor(call.query.sizes(), at::empty(call.query.sizes()).strides(),
                                   call.query.scalar_type());
  const Tensor cu_seqlens = on_cpu(call.cu_seqlens);
  const auto* ends = cu_seqlens.const_data_ptr<int32_t>();
  const int64_t heads = call.query.size(1);
  for (int64_t b = 0; b + 1 < cu_seqlens.size(0); ++b) {
    const int64_t begin = ends[b];
    const int64_t length = ends[b + 1] - begin;
    if (length == 0) continue;
    Tensor scores = at::bmm(heads_first(call.query, begin, length, heads),
                            heads_first(call.key, begin, length, heads).transpose(1, 2));
    scores.mul_(call.scale);
    if (call.bias.defined()) {
      scores.add_(call.bias[0].narrow(1, 0, length).narrow(2, 0, length).to(at::kFloat));
    }
    const Tensor positions = at::arange(length);
    const Tensor distance = positions.unsqueeze(0).sub(positions.unsqueeze(1));
    if (call.left >= 0) scores.masked_fill_(distance.lt(-call.left), kMinusInfinity);
    if (call.right >= 0) scores.masked_fill_(distance.gt(call.right), kMinusInfinity);
    const Tensor attended =
        weighted_values(scores, heads_first(call.value, begin, length, heads), call);
    on_cpu(out).narrow(0, begin, length).copy_(attended.transpose(0, 1));
  }
  return out;
}

// Replaces at::_flash_attention_forward(). If a side of the window is at least as long as the
// longest sequence, that side is dropped, as mha_varlen_fwd() of FlashAttention does.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> flash_attention(
    const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& cu_seqlens_q,
    const OptionalTensor& /*cu_seqlens_k*/, c10::SymInt /*max_q*/, c10::SymInt max_k,
    double /*dropout_p*/, bool is_causal, bool /*return_debug_mask*/, std::optional<double> scale,
    std::optional<c10::SymInt> window_left, std::optional<c10::SymInt> window_right,
    const OptionalTensor& /*seqused_k*/, const OptionalTensor& alibi_slopes) {
  count_launch();
  count_bytes({query, key, value, query});  // the result has the size of the queries
  TORCH_CHECK(!alibi_slopes, "This flash attention build does not support alibi.");
  TORCH_CHECK(query.scalar_type() == at::kBFloat16 || query.scalar_type() == at::kHalf,
              "FlashAttention only support fp16 and bf16 data type");
  TORCH_CHECK(query.size(2) % 8 == 0 && query.size(2) <= 256,
              "FlashAttention forward only supports head dimension at most 256 in steps of 8");
  const int64_t longest = max_k.expect_int();
  const auto side = [longest](const std::optional<c10::SymInt>& window) {
    const int64_t reach = window ? window->expect_int() : -1;
    return reach >= longest ? -1 : reach;
  };
  const int64_t left = side(window_left);
  const int64_t right = is_causal ? 0 : side(window_right);
  const bool plain_causal = left < 0 && right == 0;
  const Tensor out = attend({.query = query,
                             .key = key,
                             .value = value,
                             .cu_seqlens = *cu_seqlens_q,
                             .scale = *scale,
                             .left = left,
                             .right = right,
                             .window_kernel = !plain_causal && (left >= 0 || right >= 0)});
  return {out, out, out, out, out};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt> efficient_attention(
    const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& bias,
    const OptionalTensor& cu_seqlens_q, const OptionalTensor& /*cu_seqlens_k*/,
    std::optional<c10::SymInt> /*max_q*/, std::optional<c10::SymInt> /*max_k*/,
    double /*dropout_p*/, int64_t mask_type, bool /*compute_log_sumexp*/,
    std::optional<double> scale, const OptionalTensor& /*seqlen_k*/,
    std::optional<int64_t> /*window_size*/) {
  count_launch();
  count_bytes({query, key, value, query, bias.value_or(Tensor())});
  TORCH_CHECK(query.size(0) == 1 && key.size(2) == query.size(2), "shapes of packed attention");
  const int64_t lane = 16 / static_cast<int64_t>(query.element_size());
  TORCH_CHECK(query.scalar_type() == at::kFloat || query.size(3) % lane == 0,
              "cutlassF: no kernel found to launch!");
  constexpr int64_t kCausalFromTopLeft = 1;
  const Tensor out = attend({.query = query[0],
                             .key = key[0],
                             .value = value[0],
                             .cu_seqlens = *cu_seqlens_q,
                             .bias = bias ? on_cpu(*bias) : Tensor(),
                             .scale = *scale,
                             .right = mask_type == kCausalFromTopLeft ? 0 : -1})
                         .unsqueeze(0);
  return {out, out, out, out, 0, 0};
}

// Replaces at::_scaled_mm() with one scale for each row of x and one for each column of w.
Tensor scaled_mm(const Tensor& x, const Tensor& w, const Tensor& scale_x, const Tensor& scale_w,
                 const OptionalTensor& bias, const OptionalTensor& /*scale_result*/,
                 std::optional<at::ScalarType> type, bool /*use_fast_accum*/) {
  count_launch();
  TORCH_CHECK(x.stride(1) == 1 && w.stride(0) == 1, "x must be row-major and w column-major");
  TORCH_CHECK(scale_x.is_contiguous() && scale_w.is_contiguous() && scale_x.size(0) == x.size(0) &&
                  scale_w.size(1) == w.size(1),
              "one scale for each row of x and each column of w");
  TORCH_CHECK(x.size(1) % 16 == 0 && w.size(1) % 16 == 0, "sizes must be multiples of 16");
  Tensor y = product(on_cpu(x).to(at::kFloat), on_cpu(w).to(at::kFloat));
  y.mul_(on_cpu(scale_x)).mul_(on_cpu(scale_w));
  if (bias && bias->defined()) {
    TORCH_CHECK(bias->scalar_type() == at::kBFloat16, "the bias must be bfloat16");
    y.add_(on_cpu(*bias).to(at::kFloat));
  }
  Tensor out = to_device(y.to(*type));
  count_bytes({x, out});
  return out;
}

Tensor& scaled_mm_out(const Tensor& x, const Tensor& w, const Tensor& scale_x,
                      const Tensor& scale_w, const OptionalTensor& bias,
                      const OptionalTensor& scale_result, std::optional<at::ScalarType> type,
                      bool use_fast_accum, Tensor& out) {
  const Tensor y = scaled_mm(x, w, scale_x, scale_w, bias, scale_result, type, use_fast_accum);
  on_cpu(out).copy_(on_cpu(y));
  return out;
}

// Replaces at::_addmm_activation(). The GELU is the tanh form as in cuBLASLt. LibTorch's CPU kernel
// would compute the exact form.
Tensor addmm_activation(const Tensor& bias, const Tensor& x, const Tensor& w,
                        const at::Scalar& /*beta*/, const at::Scalar& /*alpha*/, bool use_gelu) {
  count_launch();
  const Tensor y =
      at::addmm(on_cpu(bias).to(at::kFloat), on_cpu(x).to(at::kFloat), on_cpu(w).to(at::kFloat));
  Tensor out = to_device((use_gelu ? at::gelu(y, "tanh") : at::relu(y)).to(x.scalar_type()));
  count_bytes({x, out});
  return out;
}

Tensor& addmm_activation_out(const Tensor& bias, const Tensor& x, const Tensor& w,
                             const at::Scalar& beta, const at::Scalar& alpha, bool use_gelu,
                             Tensor& out) {
  on_cpu(out).copy_(on_cpu(addmm_activation(bias, x, w, beta, alpha, use_gelu)));
  return out;
}

std::tuple<Tensor, Tensor> fused_rms_norm(const Tensor& x, at::IntArrayRef /*shape*/,
                                          const OptionalTensor& weight, std::optional<double> eps) {
  count_launch();
  count_bytes({x, x});  // the result has the size of x
  const Tensor wide = on_cpu(x).to(at::kFloat);
  const Tensor scale = at::rsqrt(wide.mul(wide).mean(-1, /*keepdim=*/true).add(*eps));
  const Tensor y = wide.mul(scale).mul(on_cpu(*weight).to(at::kFloat)).to(x.scalar_type());
  return {to_device(y), Tensor()};
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("_flash_attention_forward", flash_attention);
  library.impl("_efficient_attention_forward", efficient_attention);
  library.impl("_scaled_mm", scaled_mm);
  library.impl("_scaled_mm.out", scaled_mm_out);
  library.impl("_addmm_activation", addmm_activation);
  library.impl("_addmm_activation.out", addmm_activation_out);
  library.impl("_fused_rms_norm", fused_rms_norm);
}

}  // namespace
}  // namespace stand_in
