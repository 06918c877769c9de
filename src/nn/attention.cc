#include "nn/attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/empty.h>

#include "nn/device.h"

namespace encode {
namespace {

// One call a sequence on strided views of the packed projections.
at::Tensor attention_cpu(const AttentionInput& input, const PackedInput& batch,
                         const AttentionOptions& options) {
  const int64_t tokens = input.query.size(0);
  const int64_t width = input.query.size(1) * input.query.size(2);
  at::Tensor out = at::empty({tokens, width}, input.query.options());
  const auto sequence = [](const at::Tensor& packed, int64_t begin, int64_t length) {
    return packed.narrow(0, begin, length)
        .unsqueeze(0)
        .transpose(1, 2);  // [1, heads, length, head_dim]
  };
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(b)];
    const int64_t length = batch.cu_seqlens[static_cast<size_t>(b) + 1] - begin;
    const auto [attended, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
        sequence(input.query, begin, length), sequence(input.key, begin, length),
        sequence(input.value, begin, length), /*dropout_p=*/0.0, options.causal, /*attn_mask=*/{},
        options.scale);
    out.narrow(0, begin, length).copy_(attended.transpose(1, 2).reshape({length, width}));
  }
  const int64_t used = batch.cu_seqlens.back();
  if (used < tokens) out.narrow(0, used, tokens - used).zero_();
  return out;
}

at::Tensor attention_flash(const AttentionInput& input, const PackedInput& batch,
                           const AttentionOptions& options) {
  const auto result = at::_flash_attention_forward(
      input.query, input.key, input.value, batch.cu_seqlens_device, batch.cu_seqlens_device,
      batch.max_seqlen, batch.max_seqlen, /*dropout_p=*/0.0, options.causal,
      /*return_debug_mask=*/false, options.scale);
  return std::get<0>(result).flatten(1);
}

// float32, and processors before Ampere. The kernel wants as many key heads as query heads.
at::Tensor attention_efficient(const AttentionInput& input, const PackedInput& batch,
                               const AttentionOptions& options) {
  const int64_t heads = input.query.size(1);
  const auto expand = [heads](const at::Tensor& packed) {
    const int64_t groups = heads / packed.size(1);
    const at::Tensor full =
        groups == 1 ? packed
                    : packed.unsqueeze(2)
                          .expand({packed.size(0), packed.size(1), groups, packed.size(2)})
                          .flatten(1, 2);
    return full.unsqueeze(0);
  };
  constexpr int64_t kNoMask = 0;
  constexpr int64_t kCausalFromTopLeft = 1;
  const auto result = at::_efficient_attention_forward(
      input.query.unsqueeze(0), expand(input.key), expand(input.value), /*bias=*/{},
      batch.cu_seqlens_device, batch.cu_seqlens_device, batch.max_seqlen, batch.max_seqlen,
      /*dropout_p=*/0.0, options.causal ? kCausalFromTopLeft : kNoMask,
      /*compute_log_sumexp=*/false, options.scale);
  return std::get<0>(result).squeeze(0).flatten(1);
}

}  // namespace

at::Tensor varlen_attention(const AttentionInput& input, const PackedInput& batch,
                            const AttentionOptions& options) {
  if (input.query.device().is_cpu()) return attention_cpu(input, batch, options);
  const bool half_width = input.query.scalar_type() != at::kFloat;
  const bool flash_size = input.query.size(2) % 8 == 0 && input.query.size(2) <= 256;
  if (half_width && flash_size && supports_flash_attention(input.query.device())) {
    return attention_flash(input, batch, options);
  }
  return attention_efficient(input, batch, options);
}

}  // namespace encode
