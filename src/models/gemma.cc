// Gemma, Gemma 2 and Gemma 3 (Gemma Team 2024, 2024, 2025), and EmbeddingGemma, which is a
// bidirectional Gemma 3. References: modeling_gemma.py, modeling_gemma2.py and modeling_gemma3.py
// of Hugging Face transformers.
#include <cmath>

#include <ATen/ops/embedding.h>
#include <ATen/ops/scalar_tensor.h>

#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

// The defaults of GemmaConfig, Gemma2Config and Gemma3TextConfig in transformers.
constexpr double kSoftcap = 50;
constexpr double kQueryPreAttnScalar = 256;
constexpr int64_t kSlidingWindowPattern = 6;

// All norms of the family multiply by 1 + weight.
RmsNorm load_norm_plus_one(const ModuleLoader& scope, const char* name, const Dim& width,
                           const DecoderConfig& config) {
  return scope.rms_norm(name, width, config.rms_norm_eps, RmsWeight::kPlusOne);
}

SelfAttention load_gemma_attention(const ModuleLoader& layer, const DecoderConfig& config) {
  const bool bias = config.attention_bias;
  return load_attention(layer.scope("self_attn"), config, {.qkv = bias, .out = bias});
}

// Returns word embeddings times sqrt(hidden_size). The factor is rounded to the compute type, as in
// the reference: in bfloat16 the square root of 3,072 is 55.5.
ResidualSum scaled_embeddings(const at::Tensor& embed_tokens, const PackedInput& batch) {
  const at::Tensor x = at::embedding(embed_tokens, batch.input_ids);
  const double scale = std::sqrt(static_cast<double>(embed_tokens.size(1)));
  return {x.mul_(at::scalar_tensor(scale, x.options()))};
}

// The layer of the first Gemma.
//   y = x + Attention(RMSNorm(x))
//   x = y + MLP(RMSNorm(y))
//   Attention(z) = Wo softmax(q k^T / sqrt(head_dim)) v,  (q, k, v) = (Wq z, Wk z, Wv z)
//   MLP(z) = down_proj(gelu(gate_proj(z)) * up_proj(z)),  gelu is the tanh approximation
// Several heads of q share a head of k and v (grouped-query attention). q and k are rotated by
// their positions.
// PreNormLayer::forward() (models/layers.h) computes the first two lines: it normalizes before each
// half, and adds the residual after it.
using GemmaLayer = PreNormLayer<RmsNorm>;

GemmaLayer load_gemma_layer(const ModuleLoader& layer, const DecoderConfig& config) {
  const auto norm = [&](const char* name) {
    return load_norm_plus_one(layer, name, config.hidden(), config);
  };
  return {.attention_norm = norm("input_layernorm"),
          .attention = load_gemma_attention(layer, config),
          .mlp_norm = norm("post_attention_layernorm"),
          .mlp = load_gated_mlp(layer.scope("mlp"), kUsualMlpNames, config, /*bias=*/false)};
}

// The layer of Gemma 2 and Gemma 3, with norms before and after each half.
struct SandwichNormLayer {
  RmsNorm attention_norm;
  SelfAttention attention;
  RmsNorm after_attention_norm;
  RmsNorm mlp_norm;
  FeedForward mlp;
  RmsNorm after_mlp_norm;

  // Attention and MLP are the functions of GemmaLayer, with these scores:
  //   Gemma 2   softcap x tanh(q k^T / sqrt(query_pre_attn_scalar) / softcap)
  //   Gemma 3   q k^T / sqrt(query_pre_attn_scalar)
  //
  //   y = x + RMSNorm(Attention(RMSNorm(x)))
  //   x = y + RMSNorm(MLP(RMSNorm(y)))
  ResidualSum forward(ResidualSum x, const LayerContext& context) const {
    const Attended attended = attention.attend(attention_norm, std::move(x), context);
    return finish_rows(context, attended, [this](const Attended& rows) {
      ResidualSum y = {rows.residual, after_attention_norm(attention.project(rows))};
      return mlp.add(mlp_norm, std::move(y), after_mlp_norm);
    });
  }
};

SandwichNormLayer load_sandwich_layer(const ModuleLoader& layer, const DecoderConfig& config,
                                      SelfAttention attention) {
  const auto norm = [&](const char* name) {
    return load_norm_plus_one(layer, name, config.hidden(), config);
  };
  return {.attention_norm = norm("input_layernorm"),
          .attention = std::move(attention),
          .after_attention_norm = norm("post_attention_layernorm"),
          .mlp_norm = norm("pre_feedforward_layernorm"),
          .mlp = load_gated_mlp(layer.scope("mlp"), kUsualMlpNames, config, /*bias=*/false),
          .after_mlp_norm = norm("post_feedforward_layernorm")};
}

SandwichNormLayer load_gemma2_layer(const ModuleLoader& layer, const DecoderConfig& config) {
  return load_sandwich_layer(layer, config, load_gemma_attention(layer, config));
}

// Gemma 3 normalizes the heads instead of capping the scores:
//   q = rotate(RMSNorm(q)), k = rotate(RMSNorm(k))
SandwichNormLayer load_gemma3_layer(const ModuleLoader& layer, const DecoderConfig& config) {
  const ModuleLoader self_attn = layer.scope("self_attn");
  SelfAttention attention = load_gemma_attention(layer, config);
  attention.normalize_heads(load_norm_plus_one(self_attn, "q_norm", config.head(), config),
                            load_norm_plus_one(self_attn, "k_norm", config.head(), config));
  return load_sandwich_layer(layer, config, std::move(attention));
}

// Gemma and Gemma 2. Gemma 3 has another class because its layers have two rotary bases.
template <typename Layer>
class Gemma : public Model {
 public:
  Gemma(DecoderParts<Layer> parts, Rotary rotary, std::vector<AttentionWindow> windows)
      : parts_(std::move(parts)), rotary_(std::move(rotary)), windows_(std::move(windows)) {}

  // x = embed_tokens[ids] * sqrt(hidden_size); x = layer(x), layer after layer; the result is
  // RMSNorm(x).
  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles angles = rotary_.angles(batch);
    ResidualSum x = scaled_embeddings(parts_.embed_tokens, batch);
    x = run_layers(parts_.layers, x, [&](size_t layer) {
      return LayerContext{.batch = batch, .window = windows_[layer], .rotary = &angles};
    });
    return parts_.norm(x);
  }

 private:
  DecoderParts<Layer> parts_;
  Rotary rotary_;
  std::vector<AttentionWindow> windows_;  // of each layer
};

// Gemma 3. Of every six layers, five have a sliding window and another rotary base, and the sixth
// sees all keys.
class Gemma3 : public Model {
 public:
  Gemma3(const ModelSource& source, const DecoderConfig& config)
      : parts_(decoder_root(source), config, load_gemma3_layer, RmsWeight::kPlusOne),
        rotary_(parse_rope(source.config, {.head_dim = config.attention.head_dim,
                                           .default_theta = 1e6,
                                           .layer_type = "full_attention"}),
                source.max_positions, source.device),
        sliding_rotary_(parse_rope(source.config, {.head_dim = config.attention.head_dim,
                                                   .layer_type = "sliding_attention",
                                                   .theta_key = "rope_local_base_freq",
                                                   .scaling = false}),
                        source.max_positions, source.device),
        window_(config.full()) {
    const JsonFields& json = source.config;
    const int64_t width =
        json.integer_or("sliding_window", kDefaultSlidingWindow, 1, kMaxWindowTokens);
    // In a causal model a query sees the last sliding_window keys, its own included. In a
    // bidirectional model it sees half as many keys on either side.
    sliding_window_ = config.sliding(config.causal ? width : width / 2);
    const int64_t every = json.integer_or(
        json.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern",
        kSlidingWindowPattern, 1, kMaxLayers);
    sliding_ = sliding_layers(json, config.num_hidden_layers,
                              [every](int64_t layer) { return (layer + 1) % every != 0; });
  }

  // x = embed_tokens[ids] * sqrt(hidden_size); x = layer(x), layer after layer; the result is
  // RMSNorm(x).
  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles angles = rotary_.angles(batch);
    const RotaryAngles sliding_angles = sliding_rotary_.angles(batch);
    const LayerContext full = {.batch = batch, .window = window_, .rotary = &angles};
    const LayerContext sliding = {
        .batch = batch, .window = sliding_window_, .rotary = &sliding_angles};
    ResidualSum x = scaled_embeddings(parts_.embed_tokens, batch);
    x = run_layers(parts_.layers, x,
                   [&](size_t layer) { return sliding_[layer] ? sliding : full; });
    return parts_.norm(x);
  }

 private:
  DecoderParts<SandwichNormLayer> parts_;
  Rotary rotary_;
  Rotary sliding_rotary_;
  AttentionWindow window_;
  AttentionWindow sliding_window_;
  std::vector<bool> sliding_;  // for each layer
};

// Early files of Gemma have hidden_act: gelu, although the model was trained with the tanh form. So
// this function reads hidden_activation, which is right or missing in such files.
DecoderConfig read_config(const ModelSource& source) {
  DecoderConfig config(source);
  config.hidden_act =
      parse_activation_or(source.config, "hidden_activation", Activation::kGeluTanh);
  return config;
}

// Returns the configuration of Gemma 2 or Gemma 3, which have a field for the scale of the scores.
DecoderConfig read_scaled_config(const ModelSource& source) {
  DecoderConfig config = read_config(source);
  config.attention.scale =
      1 / std::sqrt(source.config.number_or("query_pre_attn_scalar", kQueryPreAttnScalar,
                                            kMinScaling, kMaxScaling));
  return config;
}

template <typename Layer>
std::unique_ptr<Model> load(const ModelSource& source, const DecoderConfig& config,
                            Layer (*load_layer)(const ModuleLoader&, const DecoderConfig&),
                            std::vector<AttentionWindow> windows) {
  DecoderParts<Layer> parts(decoder_root(source), config, load_layer, RmsWeight::kPlusOne);
  expect_decoder_taken(source.weights);
  return std::make_unique<Gemma<Layer>>(std::move(parts),
                                        Rotary(config.rope, source.max_positions, source.device),
                                        std::move(windows));
}

}  // namespace

std::unique_ptr<Model> load_gemma(const ModelSource& source) {
  const JsonFields& json = source.config;
  DecoderConfig config = read_config(source);
  if (!json.has("hidden_activation") && json.has("hidden_act") &&
      json.string("hidden_act") != "gelu")
    config.hidden_act = parse_activation(json, "hidden_act");
  return load(source, config, load_gemma_layer, config.every_layer(config.full()));
}

// Every second layer has a sliding window, beginning with the first layer.
std::unique_ptr<Model> load_gemma2(const ModelSource& source) {
  const JsonFields& json = source.config;
  DecoderConfig config = read_scaled_config(source);
  config.attention.softcap =
      states_null(source.document, "attn_logit_softcapping")
          ? 0
          : json.number_or("attn_logit_softcapping", kSoftcap, 0, kMaxScaling);
  const AttentionWindow window =
      config.sliding(json.integer_or("sliding_window", kDefaultSlidingWindow, 1, kMaxWindowTokens));
  const std::vector<bool> sliding =
      sliding_layers(json, config.num_hidden_layers, [](int64_t layer) { return layer % 2 == 0; });
  return load(source, config, load_gemma2_layer, layer_windows(config, sliding, window));
}

std::unique_ptr<Model> load_gemma3(const ModelSource& source) {
  const DecoderConfig config = read_scaled_config(source);
  auto model = std::make_unique<Gemma3>(source, config);
  expect_decoder_taken(source.weights);
  return model;
}

}  // namespace encode
