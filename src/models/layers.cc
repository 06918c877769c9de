#include "models/layers.h"

#include <cmath>
#include <fmt/format.h>

namespace encode {
namespace {

std::string heads_text(const char* name, int64_t heads, int64_t head_dim) {
  return fmt::format("{} {} x head_dim {}", name, heads, head_dim);
}

}  // namespace

AttentionShape AttentionShape::of(const ModelSizes& sizes) {
  return {.hidden_size = sizes.hidden_size,
          .num_attention_heads = sizes.num_attention_heads,
          .num_key_value_heads = sizes.num_key_value_heads,
          .head_dim = sizes.head_dim,
          .scale = 1 / std::sqrt(static_cast<double>(sizes.head_dim))};
}

Dim AttentionShape::query() const {
  return {heads_text("num_attention_heads", num_attention_heads, head_dim),
          num_attention_heads * head_dim};
}

Dim AttentionShape::key_value() const {
  return {heads_text("num_key_value_heads", num_key_value_heads, head_dim),
          num_key_value_heads * head_dim};
}

Dim AttentionShape::query_key_value() const {
  return {fmt::format("{} + 2 x {}", query().label, key_value().label),
          query().size + 2 * key_value().size};
}

void SelfAttention::normalize_heads(RmsNorm query_norm, RmsNorm key_norm) {
  query_norm_ = std::move(query_norm);
  key_norm_ = std::move(key_norm);
}

void SelfAttention::normalize_projections(RmsNorm query_norm, RmsNorm key_norm) {
  normalize_heads(std::move(query_norm), std::move(key_norm));
  norms_span_heads_ = true;
}

// Normalizes x [T, heads, head_dim], a view of the product of attention, in place.
void SelfAttention::normalize(const at::Tensor& x, const RmsNorm& norm) const {
  norm.in_place(norms_span_heads_ ? x.flatten(1).unsqueeze(1) : x);
}

at::Tensor SelfAttention::heads_of(const LinearInput& x, const LayerContext& context) const {
  const int64_t heads = shape_.num_attention_heads;
  const int64_t kv_heads = shape_.num_key_value_heads;
  const at::Tensor product = qkv_(x);
  if (shape_.clip_qkv > 0) product.clamp_(-shape_.clip_qkv, shape_.clip_qkv);
  at::Tensor qkv = product.view({product.size(0), heads + 2 * kv_heads, shape_.head_dim});
  const AttentionInput input = {.query = qkv.narrow(1, 0, heads),
                                .key = qkv.narrow(1, heads, kv_heads),
                                .value = qkv.narrow(1, heads + kv_heads, kv_heads)};
  if (query_norm_) normalize(input.query, *query_norm_);
  if (key_norm_) normalize(input.key, *key_norm_);
  if (context.rotary != nullptr) rotate(qkv, heads + kv_heads, *context.rotary);
  if (context.query_scale != nullptr) input.query.mul_(*context.query_scale);
  return varlen_attention(input, context.batch,
                          {.scale = shape_.scale,
                           .window = context.window,
                           .softcap = shape_.softcap,
                           .relative = context.relative,
                           .rounds_operands = qkv_.quantizes()});
}

FeedForward::FeedForward(GatedMlp gated)
    : up_(std::move(gated.gate_then_up)),
      down_(std::move(gated.down)),
      gate_(gated.gate_activation) {}

at::Tensor FeedForward::in_blocks(const at::Tensor& x) const {
  const at::Tensor inner = up_.in_blocks(x);
  return down_.in_blocks(gate_ ? apply_gate(inner, *gate_) : inner);
}

LinearInput FeedForward::inner(const LinearInput& x) const {
  if (!gate_) return up_(x, down_);
  const at::Tensor gate_up = up_(x);
  return down_.takes_fp8() ? apply_gate_for_product(gate_up, *gate_) : apply_gate(gate_up, *gate_);
}

}  // namespace encode
