// The parts from which the models build their layers, and the loop over the layers. All parts are
// immutable after loading, and any number of threads may call them. They throw c10::Error if the
// device fails.
//
// Above its layer, each model states the equations of its paper. PreNormLayer and PostNormLayer
// show how the code computes the two usual forms. Rotation pairs element i of a head with element
// head_dim / 2 + i (nn/layers/rotary.h).
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
#include "nn/products/row_blocks.h"

namespace encode {

// The widths of attention, and how it scales the scores.
struct AttentionShape {
  int64_t hidden_size;
  int64_t num_attention_heads;
  int64_t num_key_value_heads;  // fewer in grouped-query attention (Ainslie et al. 2023)
  int64_t head_dim;
  double scale;         // of the scores, usually 1 / sqrt(head_dim)
  double softcap = 0;   // if > 0, score = softcap x tanh(score / softcap)
  double clip_qkv = 0;  // if > 0, queries, keys and values are clamped to [-clip_qkv, clip_qkv]

  // The scale is 1 / sqrt(head_dim).
  static AttentionShape of(const ModelSizes& sizes);

  // These functions return a width together with the names of the config.json fields that determine
  // it. Error messages about the shape of a tensor show these names.
  Dim hidden() const { return {"hidden_size", hidden_size}; }
  Dim query() const;
  Dim key_value() const;
  Dim query_key_value() const;  // queries, keys and values in one tensor
};

// The input of a layer besides the hidden states. Everything that it points to must exist until the
// layer has returned.
struct LayerContext {
  const PackedInput& batch;
  AttentionWindow window = {};
  const RotaryAngles* rotary = nullptr;         // nullptr: the model has no rotary positions
  const RelativePositions* relative = nullptr;  // nullptr: no score depends on the distance
  // [T, 1, 1] in the compute type, a factor of the rotated queries of each token (Ministral 3);
  // nullptr: no factor
  const at::Tensor* query_scale = nullptr;
  const at::Tensor* rows = nullptr;  // [P] int64, the tokens to compute; nullptr: all tokens
  bool last = false;                 // no layer follows, so no layer reads the result
};

// Returns the context of the last layer. If pooling reads only a few tokens
// (PackedInput::pooled_rows), the last layer computes only their rows.
inline LayerContext last_layer(LayerContext context) {
  context.last = true;
  if (context.batch.pooled_rows.defined()) context.rows = &context.batch.pooled_rows;
  return context;
}

// The heads of attention, and the hidden states to which the layer adds their projection.
struct Attended {
  at::Tensor heads;     // [T, heads x head_dim], before the output projection
  at::Tensor residual;  // [T, hidden_size], the input of the layer
};

// Returns the result of a layer as plain rows.
inline at::Tensor plain_rows(ResidualSum x) { return x.total(); }
inline at::Tensor plain_rows(const LinearInput& x) { return x.rows; }

// Calls finish(attended), the part of a layer after attention, for all tokens or only for
// context.rows. `finish` returns LinearInput or ResidualSum. The rows of context.rows are passed in
// blocks of kProductBlockRows, because a product may sum in another order for another number of
// rows.
template <std::invocable<const Attended&> Finish>
auto finish_rows(const LayerContext& context, const Attended& attended, const Finish& finish)
    -> decltype(finish(attended)) {
  if (context.rows == nullptr) return finish(attended);
  std::vector<at::Tensor> blocks;
  for (const at::Tensor& rows : context.rows->split(kProductBlockRows)) {
    blocks.push_back(
        plain_rows(finish(Attended{.heads = attended.heads.index_select(0, rows),
                                   .residual = attended.residual.index_select(0, rows)})));
  }
  return {blocks.size() == 1 ? blocks.front() : at::cat(blocks)};
}

// Calls the layers one after the other, layer i with context_of(i). Returns the hidden states after
// the last layer: [T, hidden_size], or [P, hidden_size] if pooling reads only P tokens.
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

// Returns norm(x), the result of a layer. `first` is this layer's own first product; the next
// layer's has the same format. Unless this is the last layer, the result is in that format, with
// plain rows as the next residual.
inline LinearInput layer_result(const Norm& norm, ResidualSum x, const Linear& first,
                                const LayerContext& context) {
  return context.last ? LinearInput(norm(std::move(x))) : norm.for_product(std::move(x), first);
}

// Multi-head attention (Vaswani et al. 2017). For each head:
//   Attention(x) = Wo softmax(scale x q k^T) v,  (q, k, v) = Wqkv x
// The projections to query, key and value are one product. varlen_attention() states how a softcap
// and relative positions change the scores. With LayerContext::rotary, q and k are rotated before
// they are multiplied.
class SelfAttention {
 public:
  SelfAttention(Linear qkv, Linear out, const AttentionShape& shape)
      : qkv_(std::move(qkv)), out_(std::move(out)), shape_(shape) {}

  // Makes attend() normalize each head before it is rotated (Qwen3, Gemma 3):
  //   q = rotate(query_norm(q)), k = rotate(key_norm(k))
  void normalize_heads(RmsNorm query_norm, RmsNorm key_norm);
  // Makes attend() normalize all heads of the queries of a token together, and all heads of its
  // keys (OLMo 2). The weights of the norms are [heads x head_dim].
  void normalize_projections(RmsNorm query_norm, RmsNorm key_norm);

  // Returns the heads softmax(scale x q k^T) v of x, and x as the residual. A ResidualSum must be
  // moved into the call, because its term must have no other owner.
  Attended attend(const LinearInput& x, const LayerContext& context) const {
    return {.heads = heads_of(x, context), .residual = x.rows};
  }
  Attended attend(ResidualSum x, const LayerContext& context) const {
    return attend(x.total(), context);
  }
  // Returns the heads of norm(x), and x as the residual.
  Attended attend(const Norm& norm, ResidualSum x, const LayerContext& context) const {
    const LinearInput normed = norm.settle_for_product(x, qkv_);
    return {.heads = heads_of(normed, context), .residual = std::move(x.sum)};
  }
  // Returns Wo heads, without the residual.
  at::Tensor project(const Attended& attended) const { return out_(attended.heads); }
  // Returns residual + Wo heads.
  ResidualSum add(const Attended& attended) const {
    return out_.add(attended.heads, attended.residual);
  }
  // Returns norm(x), the result of the layer, as layer_result() does.
  LinearInput result(const Norm& norm, ResidualSum x, const LayerContext& context) const {
    return layer_result(norm, std::move(x), qkv_, context);
  }

 private:
  at::Tensor heads_of(const LinearInput& x, const LayerContext& context) const;
  void normalize(const at::Tensor& x, const RmsNorm& norm) const;

  Linear qkv_;
  Linear out_;
  std::optional<RmsNorm> query_norm_;
  std::optional<RmsNorm> key_norm_;
  bool norms_span_heads_ = false;
  AttentionShape shape_;
};

// The parts of a gated MLP (Shazeer 2020): MLP(x) = down(activation(gate(x)) * up(x)).
struct GatedMlp {
  Linear gate_then_up;  // returns [gate(x), up(x)] side by side; has no activation
  Linear down;
  Activation gate_activation;
};

// The MLP of a layer: MLP(x) = down(activation(up(x))), or the gated form.
class FeedForward {
 public:
  // `up` must include the activation.
  FeedForward(Linear up, Linear down) : up_(std::move(up)), down_(std::move(down)) {}
  explicit FeedForward(GatedMlp gated);

  // Returns norm(x), [T, hidden_size], in the number format in which the MLP reads it. The result
  // also has plain rows.
  LinearInput input(const Norm& norm, ResidualSum x) const {
    return norm.for_product(std::move(x), up_);
  }
  // Returns MLP(x), [T, hidden_size]. x is a result of input(), or plain rows.
  at::Tensor operator()(const LinearInput& x) const { return down_(inner(x)); }
  // Returns MLP(x). The bits of a row do not depend on the number of rows, which may vary from call
  // to call.
  at::Tensor in_blocks(const at::Tensor& x) const;
  // Returns y + MLP(y), [T, hidden_size]. y is a result of input().
  ResidualSum add(const LinearInput& y) const { return down_.add(inner(y), y.rows); }
  // Returns x + MLP(norm(x)).
  ResidualSum add(const Norm& norm, ResidualSum x) const {
    const LinearInput normed = norm.settle_for_product(x, up_);
    return down_.add(inner(normed), x.sum);
  }
  // Returns x + after(MLP(norm(x))).
  ResidualSum add(const Norm& norm, ResidualSum x, const Norm& after) const {
    const LinearInput normed = norm.settle_for_product(x, up_);
    return {.sum = std::move(x.sum), .term = after(down_(inner(normed)))};
  }

 private:
  // Returns the input of down_, [T, intermediate_size].
  LinearInput inner(const LinearInput& x) const;

  Linear up_;
  Linear down_;
  std::optional<Activation> gate_;  // set in the gated form
};

// A layer with a norm before each half:
//   y = x + Attention(norm(x))
//   x = y + MLP(norm(y))
template <typename NormKind>  // LayerNorm or RmsNorm
struct PreNormLayer {
  NormKind attention_norm;
  SelfAttention attention;
  NormKind mlp_norm;
  FeedForward mlp;

  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    const Attended attended = attention.attend(attention_norm, std::move(x), context);
    return finish_rows(context, attended, [this](const Attended& rows) {
      return mlp.add(mlp_norm, attention.add(rows));
    });
  }
};

// A layer with a norm after each half, as in the Transformer (Vaswani et al. 2017):
//   y = norm(x + Attention(x))
//   x = norm(y + MLP(y))
template <typename Attention = SelfAttention, typename Mlp = FeedForward>
struct PostNormLayer {
  Attention attention;
  LayerNorm attention_norm;
  Mlp mlp;
  LayerNorm mlp_norm;

  LinearInput forward(const LinearInput& x, const LayerContext& context) const {
    const Attended attended = attention.attend(x, context);
    return finish_rows(context, attended, [&](const Attended& rows) {
      const LinearInput y = mlp.input(attention_norm, attention.add(rows));
      return attention.result(mlp_norm, mlp.add(y), context);
    });
  }
};

}  // namespace encode
