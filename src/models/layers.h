// The blocks that transformer layers are put together from.
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

struct AttentionShape {
  int64_t hidden_size;
  int64_t num_attention_heads;
  int64_t num_key_value_heads;  // fewer than heads: grouped-query attention (Ainslie et al. 2023)
  int64_t head_dim;
  double scale;        // of the scores, usually 1 / sqrt(head_dim)
  double softcap = 0;  // see AttentionOptions

  // The usual case: as many keys as queries, hidden_size / num_attention_heads wide.
  static AttentionShape multi_head(int64_t hidden_size, int64_t num_attention_heads);

  // Widths with the reason for them, for the message where a tensor does not fit.
  Dim hidden() const { return {"hidden_size", hidden_size}; }
  Dim query() const;
  Dim key_value() const;
  Dim query_key_value() const;  // the three in one tensor
};

// How the tokens of one forward see each other in a layer. Borrows what it points to.
struct LayerContext {
  const PackedInput& batch;
  AttentionWindow window = {};
  const RotaryAngles* rotary = nullptr;         // none: positions are not rotary
  const RelativePositions* relative = nullptr;  // none: no term depends on the distance
  const at::Tensor* rows = nullptr;  // [P] int64, the tokens that the layer's result is needed
                                     // for; none: all
};

// The context of the last layer: it makes the rows that pooling reads, where those are few.
inline LayerContext last_layer(LayerContext context) {
  if (context.batch.pooled_rows.defined()) context.rows = &context.batch.pooled_rows;
  return context;
}

// What follows attention in a layer, finish(attended, residual) -> at::Tensor or ResidualSum: for
// all tokens, or for the context's rows alone. Those go in blocks of one size, since a product may
// sum in another order for another number of rows.
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

// The layers one after the other, each in context_of(its number); the last one makes the rows alone
// that pooling reads.
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

// Multi-head attention (Vaswani et al. 2017), the projections to query, key and value fused.
class SelfAttention {
 public:
  SelfAttention(Linear qkv, Linear out, const AttentionShape& shape)
      : qkv_(std::move(qkv)), out_(std::move(out)), shape_(shape) {}

  // Queries and keys are normalized head by head before rotation (Qwen3, Gemma 3).
  void normalize_heads(RmsNorm query_norm, RmsNorm key_norm);

  // The same without the projection out of it, [T, heads x head_dim].
  at::Tensor attend(const LinearInput& x, const LayerContext& context) const;
  const Linear& first() const { return qkv_; }  // the product that attend() begins with
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

// The position-wise half of a layer: down(act(up(x))), or gated (GLU variants, Shazeer 2020).
class FeedForward {
 public:
  // `up` applies the activation.
  FeedForward(Linear up, Linear down) : up_(std::move(up)), down_(std::move(down)) {}
  // down(act(gate(x)) * up(x)); `gate_up` makes both, the gate first, without an activation.
  static FeedForward gated(Linear gate_up, Linear down, Activation activation);

  at::Tensor operator()(const LinearInput& x) const { return down_(inner(x)); }
  ResidualSum add(const LinearInput& x, const at::Tensor& residual) const {
    return down_.add(inner(x), residual);
  }
  const Linear& first() const { return up_; }

 private:
  LinearInput inner(const LinearInput& x) const;

  Linear up_;
  Linear down_;
  std::optional<Activation> gate_;
};

// The layer of BERT and its descendants: norms after the residual sums. Mlp: FeedForward or
// MixtureOfExperts; Attention: SelfAttention or what has its attend() and add().
template <typename Mlp, typename Attention = SelfAttention>
struct PostNorm {
  Attention attention;
  LayerNorm attention_norm;
  Mlp mlp;
  LayerNorm mlp_norm;

  // x = Norm(x + Attention(x)); x = Norm(x + MLP(x)).
  at::Tensor forward(const at::Tensor& input, const LayerContext& context) const {
    const auto finish = [this](const at::Tensor& attended, const at::Tensor& residual) {
      const LinearInput x =
          attention_norm.for_product(attention.add(attended, residual), mlp.first());
      return mlp_norm(mlp.add(x, x.rows));
    };
    return finish_rows(context, attention.attend(input, context), input, finish);
  }
};

using PostNormLayer = PostNorm<FeedForward>;

// Norms before each half (Xiong et al. 2020).
struct PreNormLayer {
  std::optional<Norm> attention_norm;  // ModernBERT's first layer has none
  SelfAttention attention;
  Norm mlp_norm;
  FeedForward mlp;

  // x += Attention(Norm(x)); x += MLP(Norm(x)).
  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    const LinearInput to_attention =
        attention_norm ? attention_norm->settle_for_product(x, attention.first()) : x.total();
    const auto finish = [this](const at::Tensor& attended, const at::Tensor& residual) {
      ResidualSum sum = attention.add(attended, residual);
      const LinearInput to_mlp = mlp_norm.settle_for_product(sum, mlp.first());
      return mlp.add(to_mlp, sum.sum);
    };
    return finish_rows(context, attention.attend(to_attention, context), x.sum, finish);
  }
};

}  // namespace encode
