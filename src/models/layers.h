// The blocks from which each model's file builds its layer: attention, feed-forward, and the loop
// over the layers. All of them are immutable after loading; any number of threads may call them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ops/cat.h>

#include "models/module_loader.h"
#include "nn/layers/attention.h"
#include "nn/layers/rotary.h"

namespace encode {

// The widths of an attention and how it scales its scores.
struct AttentionShape {
  int64_t hidden_size;
  int64_t num_attention_heads;
  int64_t num_key_value_heads;  // fewer than heads: grouped-query attention (Ainslie et al. 2023)
  int64_t head_dim;
  double scale;        // of the scores, usually 1 / sqrt(head_dim)
  double softcap = 0;  // see AttentionOptions

  // Multi-head attention: as many key heads as query heads, each hidden_size / num_attention_heads
  // wide, scores scaled by 1 / sqrt(head_dim).
  static AttentionShape multi_head(int64_t hidden_size, int64_t num_attention_heads);

  // Widths with the fields that they follow from, for the message about a tensor that does not fit.
  Dim hidden() const { return {"hidden_size", hidden_size}; }
  Dim query() const;
  Dim key_value() const;
  Dim query_key_value() const;  // queries, keys and values in one tensor
};

// What a layer needs to know about the tokens of one forward. Borrows everything that it points to.
struct LayerContext {
  const PackedInput& batch;
  AttentionWindow window = {};
  const RotaryAngles* rotary = nullptr;         // nullptr: the model has no rotary positions
  const RelativePositions* relative = nullptr;  // nullptr: no score depends on the distance
  const at::Tensor* rows = nullptr;  // [P] int64, the tokens whose result is needed; nullptr: all
};

// The context of the last layer: if pooling reads a few tokens alone (PackedInput::pooled_rows),
// the layer makes no more than their rows.
inline LayerContext last_layer(LayerContext context) {
  if (context.batch.pooled_rows.defined()) context.rows = &context.batch.pooled_rows;
  return context;
}

// Calls finish(attended, residual), the part of a layer that follows attention, for all tokens, or
// for context.rows alone if there are such. finish returns at::Tensor or ResidualSum. The rows go
// through it in blocks of one size, because a product may sum in another order for another number
// of rows.
template <typename Finish>
auto finish_rows(const LayerContext& context, const at::Tensor& attended,
                 const at::Tensor& residual, const Finish& finish)
    -> decltype(finish(attended, residual)) {
  if (context.rows == nullptr) return finish(attended, residual);
  std::vector<at::Tensor> blocks;
  for (const at::Tensor& rows : context.rows->split(kCpuBlockTokens)) {
    ResidualSum part = {finish(attended.index_select(0, rows), residual.index_select(0, rows))};
    blocks.push_back(part.total());
  }
  return {blocks.size() == 1 ? blocks.front() : at::cat(blocks)};
}

// Calls the layers one after the other, layer i with context_of(i), and returns the hidden states
// after the last one: [T, hidden_size], or [P, hidden_size] if pooling reads P tokens alone.
template <typename Layer, typename Hidden, std::invocable<size_t> ContextOf>
Hidden run_layers(const std::vector<Layer>& layers, Hidden x, const ContextOf& context_of) {
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerContext context = context_of(i);
    x = layers[i].forward(std::move(x), i + 1 == layers.size() ? last_layer(context) : context);
  }
  return x;
}
template <typename Layer, typename Hidden>
Hidden run_layers(const std::vector<Layer>& layers, Hidden x, const LayerContext& context) {
  return run_layers(layers, std::move(x), [&context](size_t) { return context; });
}

// Multi-head attention (Vaswani et al. 2017), with the projections to query, key and value as one
// product.
class SelfAttention {
 public:
  SelfAttention(Linear qkv, Linear out, const AttentionShape& shape)
      : qkv_(std::move(qkv)), out_(std::move(out)), shape_(shape) {}

  // From now on queries and keys are normalized head by head before they are rotated (Qwen3,
  // Gemma 3).
  void normalize_heads(RmsNorm query_norm, RmsNorm key_norm);

  // Attention without its output projection: [T, hidden_size] -> [T, heads x head_dim].
  at::Tensor attend(const LinearInput& x, const LayerContext& context) const;
  // The same of norm(x). Adds the term that waits in x to x.sum, which is the residual of the
  // layer.
  at::Tensor attend(const Norm& norm, ResidualSum& x, const LayerContext& context) const {
    return attend(norm.settle_for_product(x, qkv_), context);
  }
  // The output projection.
  at::Tensor project(const at::Tensor& attended) const { return out_(attended); }
  // residual + project(attended).
  ResidualSum add(const at::Tensor& attended, const at::Tensor& residual) const {
    return out_.add(attended, residual);
  }

 private:
  Linear qkv_;
  Linear out_;
  std::optional<RmsNorm> query_norm_;
  std::optional<RmsNorm> key_norm_;
  AttentionShape shape_;
};

// The position-wise half of a layer: down(act(up(x))), or the gated form (Shazeer 2020).
class FeedForward {
 public:
  // `up` was loaded with the activation.
  FeedForward(Linear up, Linear down) : up_(std::move(up)), down_(std::move(down)) {}
  // down(activation(gate(x)) * up(x)). `gate_up` makes gate(x) and up(x) side by side, the gate
  // first, and was loaded without an activation.
  static FeedForward gated(Linear gate_up, Linear down, Activation activation);

  // [T, hidden_size] -> [T, hidden_size].
  at::Tensor operator()(const LinearInput& x) const { return down_(inner(x)); }
  // residual + MLP(x).
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const {
    return down_.add(inner(x), residual);
  }
  // x + MLP(norm(x)).
  ResidualSum add(const Norm& norm, ResidualSum x) const {
    const LinearInput normed = norm.settle_for_product(x, up_);
    return add(normed, x.sum);
  }
  // The product that reads the input. A norm before it can then write the form that it reads.
  const Linear& first() const { return up_; }

 private:
  // What down_ reads: [T, intermediate_size].
  LinearInput inner(const LinearInput& x) const;

  Linear up_;
  Linear down_;
  std::optional<Activation> gate_;  // of the gated form
};

}  // namespace encode
