// The blocks that transformer layers are put together from.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "models/module_loader.h"
#include "nn/attention.h"
#include "nn/rotary.h"

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
};

// Multi-head attention (Vaswani et al. 2017), the projections to query, key and value fused.
class SelfAttention {
 public:
  SelfAttention(Linear qkv, Linear out, const AttentionShape& shape)
      : qkv_(std::move(qkv)), out_(std::move(out)), shape_(shape) {}

  // Queries and keys are normalized head by head before rotation (Qwen3, Gemma 3).
  void normalize_heads(RmsNorm query_norm, RmsNorm key_norm);

  // [T, hidden_size] -> the same shape.
  at::Tensor operator()(const at::Tensor& x, const LayerContext& context) const {
    return out_(attend(x, context));
  }
  // residual + (*this)(x).
  ResidualSum add(const at::Tensor& x, const at::Tensor& residual,
                  const LayerContext& context) const {
    return out_.add(attend(x, context), residual);
  }

 private:
  at::Tensor attend(const at::Tensor& x, const LayerContext& context) const;

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

  at::Tensor operator()(const at::Tensor& x) const { return down_(inner(x)); }
  ResidualSum add(const at::Tensor& x, const at::Tensor& residual) const {
    return down_.add(inner(x), residual);
  }

 private:
  at::Tensor inner(const at::Tensor& x) const;

  Linear up_;
  Linear down_;
  std::optional<Activation> gate_;
};

// The layer of BERT and its descendants: norms after the residual sums. Mlp: FeedForward or
// MixtureOfExperts.
template <typename Mlp>
struct PostNorm {
  SelfAttention attention;
  LayerNorm attention_norm;
  Mlp mlp;
  LayerNorm mlp_norm;

  // x = Norm(x + Attention(x)); x = Norm(x + MLP(x)).
  at::Tensor forward(const at::Tensor& input, const LayerContext& context) const {
    const at::Tensor x = attention_norm(attention.add(input, input, context));
    return mlp_norm(mlp.add(x, x));
  }
};

using PostNormLayer = PostNorm<FeedForward>;

// Norms before each half (Xiong et al. 2020). Norm: LayerNorm or RmsNorm.
template <typename Norm>
struct PreNormLayer {
  std::optional<Norm> attention_norm;  // ModernBERT's first layer has none
  SelfAttention attention;
  Norm mlp_norm;
  FeedForward mlp;

  // x += Attention(Norm(x)); x += MLP(Norm(x)).
  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    const at::Tensor to_attention = attention_norm ? attention_norm->settle(x) : x.total();
    x = attention.add(to_attention, x.sum, context);
    const at::Tensor to_mlp = mlp_norm.settle(x);
    return mlp.add(to_mlp, x.sum);
  }
};

}  // namespace encode
