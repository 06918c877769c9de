#include "nn/layers/attention.h"

#include <limits>

#include <ATen/TensorIndexing.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "nn/cpu/attention.h"
#include "nn/cuda/device.h"

namespace encode {
namespace {

bool is_causal(const AttentionWindow& window) { return window.right == 0; }

bool is_plain(const AttentionOptions& options) {
  return options.softcap == 0 && options.relative == nullptr;
}

at::Tensor attention_flash(const AttentionInput& input, const PackedInput& batch,
                           const AttentionOptions& options) {
  const auto result = at::_flash_attention_forward(
      input.query, input.key, input.value, batch.cu_seqlens_device, batch.cu_seqlens_device,
      batch.max_seqlen, batch.max_seqlen, /*dropout_p=*/0.0, is_causal(options.window),
      /*return_debug_mask=*/false, options.scale, options.window.left, options.window.right);
  return std::get<0>(result).flatten(1);
}

// LibTorch's memory-efficient kernel, for float32 and for GPUs before Ampere. The kernel needs as
// many key heads as query heads, so key heads are repeated.
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
      /*dropout_p=*/0.0, is_causal(options.window) ? kCausalFromTopLeft : kNoMask,
      /*compute_log_sumexp=*/false, options.scale);
  return std::get<0>(result).squeeze(0).flatten(1);
}

// Returns key - query for every pair of tokens of a sequence, [length, length].
at::Tensor distances(int64_t length, at::Device device) {
  const at::Tensor positions =
      at::arange(length, at::TensorOptions().dtype(at::kLong).device(device));
  return positions.unsqueeze(0).sub(positions.unsqueeze(1));
}

// The terms of RelativePositions for one sequence, [heads, length, length], or undefined if there
// are none.
struct RelativeTerms {
  at::Tensor unscaled;  // added before scaling
  at::Tensor scaled;    // added after scaling
};

RelativeTerms relative_terms(const RelativePositions& relative, const at::Tensor& distance,
                             int64_t begin, int64_t heads) {
  const auto reach = static_cast<int64_t>(relative.column.size() / 2);
  const int64_t length = distance.size(0);
  const at::Tensor map = at::tensor(relative.column, at::kInt).to(distance.device(), at::kLong);
  const at::Tensor column = map.index({distance.clamp(-reach, reach).add(reach)});
  RelativeTerms terms;
  const auto add = [&terms](const at::Tensor& term) {
    terms.unscaled = terms.unscaled.defined() ? terms.unscaled.add(term) : term;
  };
  const auto of_token = [&](const at::Tensor& table) {  // [heads, length, P]
    return table.narrow(0, begin, length).transpose(0, 1).to(at::kFloat);
  };
  const auto every_head = [&](const at::Tensor& index) {
    return index.unsqueeze(0).expand({heads, length, length});
  };
  if (relative.of_query.defined()) add(of_token(relative.of_query).gather(2, every_head(column)));
  if (relative.of_key.defined())
    add(of_token(relative.of_key).gather(2, every_head(column.t())).transpose(1, 2));
  if (relative.bias.defined()) terms.scaled = relative.bias.index({at::indexing::Slice(), column});
  return terms;
}

// Attention with plain products in float32, one sequence after the other. It supports the options
// that no fused kernel has.
at::Tensor attention_by_products(const AttentionInput& input, const PackedInput& batch,
                                 const AttentionOptions& options) {
  const int64_t groups = input.query.size(1) / input.key.size(1);
  at::Tensor out = at::zeros({input.query.size(0), input.query.size(1), input.query.size(2)},
                             input.query.options());
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    const int64_t begin = batch.cu_seqlens[static_cast<size_t>(b)];
    const int64_t length = batch.cu_seqlens[static_cast<size_t>(b) + 1] - begin;
    const auto heads_first = [&](const at::Tensor& packed, int64_t repeats) {
      return packed.narrow(0, begin, length)
          .transpose(0, 1)
          .to(at::kFloat)
          .repeat_interleave(repeats, 0);
    };
    const at::Tensor distance = distances(length, input.query.device());
    at::Tensor scores =
        at::bmm(heads_first(input.query, 1), heads_first(input.key, groups).transpose(1, 2));
    const RelativeTerms terms =
        options.relative != nullptr
            ? relative_terms(*options.relative, distance, begin, input.query.size(1))
            : RelativeTerms{};
    if (terms.unscaled.defined()) scores.add_(terms.unscaled);
    scores.mul_(options.scale);
    if (options.softcap > 0) scores = scores.div_(options.softcap).tanh_().mul_(options.softcap);
    if (terms.scaled.defined()) scores.add_(terms.scaled);
    constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
    if (options.window.left >= 0)
      scores.masked_fill_(distance.lt(-options.window.left), kMinusInfinity);
    if (options.window.right >= 0)
      scores.masked_fill_(distance.gt(options.window.right), kMinusInfinity);
    const at::Tensor attended = at::bmm(at::softmax(scores, -1), heads_first(input.value, groups));
    out.narrow(0, begin, length).copy_(attended.transpose(0, 1));
  }
  return out.flatten(1);
}

}  // namespace

at::Tensor varlen_attention(const AttentionInput& input, const PackedInput& batch,
                            const AttentionOptions& options) {
  if (input.query.device().is_cpu()) return attention_cpu(input, batch, options);
  const at::Device device = input.query.device();
  const bool half_width = input.query.scalar_type() != at::kFloat;
  const bool flash_size = input.query.size(2) % 8 == 0 && input.query.size(2) <= 256;
  if (is_plain(options) && half_width && flash_size && supports_flash_attention(device))
    return attention_flash(input, batch, options);
  const AttentionWindow& window = options.window;
  if (is_plain(options) && window.left < 0 && window.right <= 0)
    return attention_efficient(input, batch, options);
  return attention_by_products(input, batch, options);
}

}  // namespace encode
