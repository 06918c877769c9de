#include "nn/layers/pooling.h"

#include <algorithm>
#include <limits>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/segment_reduce.h>

#include "base/pooling_modes.h"
#include "nn/cuda/cuda_kernels.h"
#include "nn/products/row_blocks.h"

namespace encode {
namespace {

// Returns the row of the one token that `mode` reads. The sequence has the rows `begin` to `last`.
// kCls reads the first token after the `prompt_tokens` of the prompt.
int64_t token_row(PoolingMode mode, int64_t begin, int64_t last, int64_t prompt_tokens) {
  switch (mode) {
    case PoolingMode::kCls:
      return std::min(begin + prompt_tokens, last);
    case PoolingMode::kLastToken:
      return last;
    case PoolingMode::kMean:
    case PoolingMode::kMax:
    case PoolingMode::kWeightedMean:
    case PoolingMode::kMeanSqrtLen:
    case PoolingMode::kNone:
      break;
  }
  TORCH_CHECK(false, "pooling '", to_string(mode), "' reads more than one token");
}

std::vector<int64_t> token_rows(const PackedInput& batch, PoolingMode mode) {
  std::vector<int64_t> rows;
  for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b)
    rows.push_back(
        token_row(mode, batch.cu_seqlens[b], batch.cu_seqlens[b + 1] - 1, batch.prompt_tokens));
  return rows;
}

// Pools with LibTorch's operations. Each sequence of the batch is a segment of the token vectors.
class Segments {
 public:
  Segments(const at::Tensor& hidden_states, const PackedInput& batch)
      : tokens_(hidden_states.narrow(0, 0, batch.cu_seqlens.back()).to(at::kFloat)),
        position_ids_(batch.position_ids.narrow(0, 0, batch.cu_seqlens.back())),
        batch_(batch),
        prompt_tokens_(batch.prompt_tokens) {
    std::vector<int64_t> offsets(batch.cu_seqlens.begin(), batch.cu_seqlens.end());
    for (size_t b = 0; b + 1 < offsets.size(); ++b) {
      const int64_t length = offsets[b + 1] - offsets[b];
      const auto skipped = static_cast<double>(std::min(prompt_tokens_, length));
      const auto n = static_cast<double>(length);
      counts_.push_back(static_cast<float>(n - skipped));
      // The sum of the positions that are kept, counted from 1.
      position_sums_.push_back(static_cast<float>((n * (n + 1) - skipped * (skipped + 1)) / 2));
    }
    offsets_ = on_device(offsets);
  }

  at::Tensor pool(PoolingMode mode) const {
    switch (mode) {
      case PoolingMode::kCls:
      case PoolingMode::kLastToken:
        return tokens_.index_select(0, on_device(token_rows(batch_, mode)));
      case PoolingMode::kMax:
        return max();
      case PoolingMode::kMean:
        return sum(tokens_).div(divisors(counts_));
      case PoolingMode::kMeanSqrtLen:
        return sum(tokens_).div(divisors(counts_).sqrt());
      case PoolingMode::kWeightedMean:
        return weighted_mean();
      case PoolingMode::kNone:
        break;
    }
    return tokens_;
  }

 private:
  template <typename T>
  at::Tensor on_device(const std::vector<T>& values) const {
    return to_device(values, tokens_.device());
  }
  // Returns `values` as a tensor [B, 1]. A value of 0 becomes 1e-9: the sequence then has only
  // prompt tokens, so the dividend is 0 and the quotient is 0.
  at::Tensor divisors(const std::vector<float>& values) const {
    return on_device(values).clamp_min_(1e-9).unsqueeze(1);
  }
  at::Tensor in_prompt() const { return position_ids_.lt(prompt_tokens_).unsqueeze(1); }

  at::Tensor sum(const at::Tensor& tokens) const {
    const at::Tensor body = prompt_tokens_ > 0 ? tokens.masked_fill(in_prompt(), 0) : tokens;
    return at::segment_reduce(body, "sum", /*lengths=*/{}, /*indices=*/{}, offsets_, /*axis=*/0,
                              /*unsafe=*/true, 0);
  }
  at::Tensor weighted_mean() const {
    const at::Tensor weights = position_ids_.add(1).to(at::kFloat).unsqueeze(1);
    return sum(tokens_.mul(weights)).div(divisors(position_sums_));
  }
  at::Tensor max() const {
    constexpr double kLowest = -std::numeric_limits<double>::infinity();
    const at::Tensor body =
        prompt_tokens_ > 0 ? tokens_.masked_fill(in_prompt(), kLowest) : tokens_;
    const at::Tensor top = at::segment_reduce(body, "max", /*lengths=*/{}, /*indices=*/{}, offsets_,
                                              /*axis=*/0, /*unsafe=*/true, kLowest);
    return prompt_tokens_ > 0 ? top.masked_fill(top.eq(kLowest), 0) : top;
  }

  at::Tensor tokens_;        // [used tokens, hidden_size] float32
  at::Tensor position_ids_;  // [used tokens]
  const PackedInput& batch_;
  int64_t prompt_tokens_;
  at::Tensor offsets_;  // [B + 1] int64
  std::vector<float> counts_;
  std::vector<float> position_sums_;
};

// Pools on a CUDA device, with one kernel call for each mode. Returns an undefined tensor if the
// CUDA plugin has no kernel for it.
at::Tensor pool_by_kernel(const at::Tensor& hidden_states, const PackedInput& batch,
                          const std::vector<PoolingMode>& modes) {
  if (!hidden_states.device().is_cuda()) return {};
  const int64_t width = hidden_states.size(1);
  at::Tensor out = at::empty({batch.sequences(), static_cast<int64_t>(modes.size()) * width},
                             hidden_states.options().dtype(at::kFloat));
  for (size_t i = 0; i < modes.size(); ++i) {
    if (!cuda_kernels().pool({.hidden = hidden_states,
                              .cu_seqlens = batch.cu_seqlens_device,
                              .mode = modes[i],
                              .prompt_tokens = batch.prompt_tokens,
                              .y = out.narrow(1, static_cast<int64_t>(i) * width, width)})) {
      return {};
    }
  }
  return out;
}

}  // namespace

bool reads_one_token(const std::vector<PoolingMode>& modes) {
  return modes.size() == 1 && facts_of(modes.front()).one_token;
}

at::Tensor pooled_rows(const PackedInput& batch, PoolingMode mode, ProductFormat format) {
  std::vector<int64_t> rows = token_rows(batch, mode);
  const at::Device device = batch.input_ids.device();
  const auto count = static_cast<int64_t>(rows.size());
  rows.resize(
      static_cast<size_t>(device.is_cuda() ? whole_blocks(count) : cpu_slots(count, format)));
  // On CPU, all rows are computed if there are at least as many pooled rows as tokens. On a GPU,
  // pooled_rows can change the bits, so it must be defined for every batch of any size.
  if (device.is_cpu() && static_cast<int64_t>(rows.size()) >= batch.tokens()) return {};
  return to_device(rows, device);
}

std::vector<TokenSpan> slots_of_spans(const PackedBatch& batch) {
  std::vector<TokenSpan> slots;
  slots.reserve(batch.spans.size());
  auto span = batch.spans.begin();
  for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
    const int32_t begin = batch.cu_seqlens[b];
    for (int32_t i = 0; i < batch.vectors[b]; ++i, ++span)
      slots.push_back({.begin = begin + span->begin, .end = begin + span->end});
  }
  return slots;
}

SpanTokens span_tokens(const at::Tensor& hidden_states, std::span<const TokenSpan> spans) {
  PackedBatch sequences;
  sequences.cu_seqlens.push_back(0);
  std::vector<int64_t> rows;
  for (const TokenSpan& span : spans) {
    for (int32_t slot = span.begin; slot < span.end; ++slot) {
      rows.push_back(slot);
      sequences.position_ids.push_back(slot - span.begin);
    }
    sequences.cu_seqlens.push_back(static_cast<int32_t>(rows.size()));
    sequences.max_seqlen = std::max(sequences.max_seqlen, span.end - span.begin);
  }
  const at::Device device = hidden_states.device();
  return {.hidden_states = hidden_states.index_select(0, to_device(rows, device)),
          .input = to_device(sequences, static_cast<int64_t>(rows.size()), device)};
}

at::Tensor pool(const at::Tensor& hidden_states, const PackedInput& batch,
                const std::vector<PoolingMode>& modes) {
  if (modes.front() == PoolingMode::kNone)
    return hidden_states.narrow(0, 0, batch.cu_seqlens.back()).to(at::kFloat);
  if (batch.pooled_rows.defined())
    return hidden_states.narrow(0, 0, batch.sequences()).to(at::kFloat);
  if (at::Tensor pooled = pool_by_kernel(hidden_states, batch, modes); pooled.defined())
    return pooled;
  return pool_by_operations(hidden_states, batch, modes);
}

at::Tensor pool_by_operations(const at::Tensor& hidden_states, const PackedInput& batch,
                              const std::vector<PoolingMode>& modes) {
  const Segments segments(hidden_states, batch);
  std::vector<at::Tensor> parts;
  parts.reserve(modes.size());
  for (const PoolingMode mode : modes) parts.push_back(segments.pool(mode));
  return parts.size() == 1 ? parts.front() : at::cat(parts, 1);
}

void l2_normalize(at::Tensor& x) {
  constexpr double kSmallestNorm = 1e-12;
  x.div_(at::norm(x, 2, {1}, /*keepdim=*/true).clamp_min_(kSmallestNorm));
}

}  // namespace encode
