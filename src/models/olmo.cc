// OLMo and OLMo 2 (Groeneveld et al. 2024; OLMo Team 2025). References: modeling_olmo.py and
// modeling_olmo2.py of Hugging Face transformers.
#include <ATen/ops/ones.h>

#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/decoder.h"
#include "models/rotary_decoder.h"

namespace encode {
namespace {

// The layer of OLMo. Its norms have no weights, so they multiply by one.
//   y = x + Attention(LayerNorm(x))
//   x = y + MLP(LayerNorm(y)),  MLP(z) = down_proj(silu(gate_proj(z)) * up_proj(z))
//   Attention(z) = Wo softmax(q k^T / sqrt(head_dim)) v
//   (q, k, v) = clamp((Wq z, Wk z, Wv z), -clip_qkv, clip_qkv)
// Without clip_qkv nothing is clamped. q and k are then rotated by their positions. Several heads
// of q share a head of k and v (grouped-query attention).
// PreNormLayer::forward() (models/layers.h) computes the first two lines: it normalizes before each
// half, and adds the residual after it.
using OlmoLayer = PreNormLayer<LayerNorm>;

// The layer of OLMo 2, with norms after the two halves instead of before them.
struct Olmo2Layer {
  SelfAttention attention;
  RmsNorm after_attention_norm;
  FeedForward mlp;
  RmsNorm after_mlp_norm;

  //   y = x + RMSNorm(Attention(x))
  //   x = y + RMSNorm(MLP(y)),  MLP(z) = down_proj(silu(gate_proj(z)) * up_proj(z))
  //   Attention(z) = Wo softmax(q k^T / sqrt(head_dim)) v
  //   q = rotate(RMSNorm(Wq z)), k = rotate(RMSNorm(Wk z)), v = Wv z
  // These two norms are over all heads of a token together. Several heads of q share a head of k
  // and v.
  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    const Attended attended = attention.attend(std::move(x), context);
    return finish_rows(context, attended, [this](const Attended& rows) -> ResidualSum {
      ResidualSum y = {rows.residual, after_attention_norm(attention.project(rows))};
      const at::Tensor sum = y.total();
      return {.sum = sum, .term = after_mlp_norm(mlp(sum))};
    });
  }
};

LayerNorm norm_without_weights(const ModuleLoader& scope, const ModelSource& source,
                               const DecoderConfig& config) {
  constexpr double kEps = 1e-5;  // a constant in the reference
  const auto options = at::TensorOptions().dtype(source.weights.dtype()).device(scope.device());
  return {at::ones({config.hidden().size}, options), {}, kEps};
}

SelfAttention load_olmo_attention(const ModuleLoader& layer, const DecoderConfig& config) {
  return load_attention(layer.scope("self_attn"), config,
                        {.qkv = config.attention_bias, .out = config.attention_bias});
}

Olmo2Layer load_olmo2_layer(const ModuleLoader& layer, const DecoderConfig& config) {
  const ModuleLoader self_attn = layer.scope("self_attn");
  SelfAttention attention = load_olmo_attention(layer, config);
  attention.normalize_projections(
      self_attn.rms_norm("q_norm", config.attention.query(), config.rms_norm_eps),
      self_attn.rms_norm("k_norm", config.attention.key_value(), config.rms_norm_eps));
  const auto norm = [&](const char* name) {
    return layer.rms_norm(name, config.hidden(), config.rms_norm_eps);
  };
  return {.attention = std::move(attention),
          .after_attention_norm = norm("post_attention_layernorm"),
          .mlp = load_gated_mlp(layer.scope("mlp"), kUsualMlpNames, config, /*bias=*/false),
          .after_mlp_norm = norm("post_feedforward_layernorm")};
}

template <typename Layer, typename FinalNorm>
std::unique_ptr<Model> make(const ModelSource& source, const DecoderConfig& config,
                            std::vector<Layer> layers, FinalNorm norm) {
  const ModuleLoader root = decoder_root(source);
  auto model = make_rotary_decoder(RotaryDecoderParts<Layer, FinalNorm>{
      .words = root.table("embed_tokens", {"vocab_size", config.vocab_size}, config.hidden()),
      .layers = std::move(layers),
      .norm = std::move(norm),
      .rotary = Rotary(config.rope, source.max_positions, source.device),
      .window = config.full()});
  expect_decoder_taken(source.weights);
  return model;
}

}  // namespace

std::unique_ptr<Model> load_olmo(const ModelSource& source) {
  DecoderConfig config(source);
  config.attention.clip_qkv = source.config.number_or("clip_qkv", 0, kMinScaling, kMaxScaling);
  const ModuleLoader root = decoder_root(source);
  const LayerNorm norm = norm_without_weights(root, source, config);
  const auto load_layer = [&norm](const ModuleLoader& layer, const DecoderConfig& fields) {
    return OlmoLayer{
        .attention_norm = norm,
        .attention = load_olmo_attention(layer, fields),
        .mlp_norm = norm,
        .mlp = load_gated_mlp(layer.scope("mlp"), kUsualMlpNames, fields, /*bias=*/false)};
  };
  return make(source, config, root.layers("layers.", config.num_hidden_layers, load_layer, config),
              norm);
}

std::unique_ptr<Model> load_olmo2(const ModelSource& source) {
  // 1e-5 is the default of Olmo2Config in transformers.
  const DecoderConfig config(source, {.default_norm_eps = 1e-5});
  const ModuleLoader root = decoder_root(source);
  return make(source, config,
              root.layers("layers.", config.num_hidden_layers, load_olmo2_layer, config),
              root.rms_norm("norm", config.hidden(), config.rms_norm_eps));
}

}  // namespace encode
