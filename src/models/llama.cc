// Llama (Touvron et al. 2023; Llama 3: Grattafiori et al. 2024) and the models that kept its layer.
// These are the differences:
//
//               projections with a bias           heads normalized  keys that a query sees
//   Llama       all if attention_bias, mlp_bias   no                all up to its own
//   Mistral     none                              no                the last sliding_window keys
//   Ministral   none                              no                all, or a window in some layers
//   Ministral 3 none                              no                the last sliding_window keys
//   Qwen2       query, key and value              no                all, or a window in some layers
//   Qwen3       attention if attention_bias       yes               all, or a window in some layers
//   EuroBERT    all if attention_bias, mlp_bias   no                the whole text
//   NVIDIA's    all if attention_bias, mlp_bias   no                the whole text
//
// Ministral 3 also scales the queries of long texts (QueryScale). The first six can also be
// bidirectional (DecoderConfig::causal). NVIDIA's model has the model_type llama_bidirec and the
// class LlamaBidirectionalModel (Moreira et al. 2024). Papers: Mistral is Jiang et al. 2023, Qwen2
// Yang et al. 2024, Qwen3 Yang et al. 2025, EuroBERT Boizard et al. 2025.
// References: modeling_llama.py, modeling_mistral.py, modeling_ministral.py,
// modeling_ministral3.py, modeling_qwen2.py, modeling_qwen3.py and modeling_eurobert.py of Hugging
// Face transformers; the modeling code that NVIDIA publishes with llama-embed-nemotron-8b.
#include <algorithm>
#include <optional>

#include <ATen/ops/embedding.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/log.h>

#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

// The layer of Llama:
//   y = x + Attention(RMSNorm(x))
//   x = y + MLP(RMSNorm(y))
//   Attention(z) = Wo softmax(q k^T / sqrt(head_dim)) v,  (q, k, v) = (Wq z, Wk z, Wv z)
//   MLP(z) = down_proj(act(gate_proj(z)) * up_proj(z)),  act is hidden_act (silu)
// Several heads of q share a head of k and v (grouped-query attention). q and k are rotated by
// their positions.
// PreNormLayer::forward() (models/layers.h) computes the first two lines: it normalizes before each
// half, and adds the residual after it.
using LlamaLayer = PreNormLayer<RmsNorm>;

// Multiplies the rotated queries by 1 + beta x log(1 + floor(position / trained_length)). The
// factor is 1 for the first trained_length tokens of a text.
struct QueryScale {
  double beta;
  int64_t trained_length;

  // Returns the factors of a batch, [T, 1, 1] of `type`.
  at::Tensor of(const PackedInput& batch, at::ScalarType type) const {
    const at::Tensor whole = at::floor_divide(batch.position_ids, trained_length).to(at::kFloat);
    return at::log(whole.add(1)).mul(beta).add(1).to(type).view({-1, 1, 1});
  }
};

// A row of the table at the top of this file.
struct Variant {
  AttentionBias attention_bias = {.qkv = false, .out = false};
  bool mlp_bias = false;
  bool normalize_heads = false;  // q = rotate(RMSNorm(q)), k = rotate(RMSNorm(k)), head by head
  std::vector<AttentionWindow> windows;  // of each layer
  std::optional<QueryScale> query_scale = {};
};

LlamaLayer load_llama_layer(const ModuleLoader& layer, const DecoderConfig& config,
                            const Variant& variant) {
  const ModuleLoader self_attn = layer.scope("self_attn");
  SelfAttention attention = load_attention(self_attn, config, variant.attention_bias);
  if (variant.normalize_heads) {
    attention.normalize_heads(self_attn.rms_norm("q_norm", config.head(), config.rms_norm_eps),
                              self_attn.rms_norm("k_norm", config.head(), config.rms_norm_eps));
  }
  return {
      .attention_norm = layer.rms_norm("input_layernorm", config.hidden(), config.rms_norm_eps),
      .attention = std::move(attention),
      .mlp_norm = layer.rms_norm("post_attention_layernorm", config.hidden(), config.rms_norm_eps),
      .mlp = load_gated_mlp(layer.scope("mlp"), kUsualMlpNames, config, variant.mlp_bias)};
}

class Llama : public Model {
 public:
  Llama(const ModelSource& source, const DecoderConfig& config, const Variant& variant)
      : parts_(decoder_root(source), config,
               [&variant](const ModuleLoader& layer, const DecoderConfig& fields) {
                 return load_llama_layer(layer, fields, variant);
               }),
        rotary_(config.rope, source.max_positions, source.device),
        windows_(variant.windows),
        query_scale_(variant.query_scale) {}

  // x = embed_tokens[ids]; x = layer(x), layer after layer; the result is RMSNorm(x).
  at::Tensor forward(const PackedInput& batch) const override {
    const RotaryAngles angles = rotary_.angles(batch);
    ResidualSum x = {at::embedding(parts_.embed_tokens, batch.input_ids)};
    at::Tensor scale;
    if (query_scale_) scale = query_scale_->of(batch, x.sum.scalar_type());
    x = run_layers(parts_.layers, x, [&](size_t layer) {
      return LayerContext{.batch = batch,
                          .window = windows_[layer],
                          .rotary = &angles,
                          .query_scale = query_scale_ ? &scale : nullptr};
    });
    return parts_.norm(x);
  }

 private:
  DecoderParts<LlamaLayer> parts_;
  Rotary rotary_;
  std::vector<AttentionWindow> windows_;
  std::optional<QueryScale> query_scale_;
};

std::unique_ptr<Model> load(const ModelSource& source, const DecoderConfig& config,
                            const Variant& variant) {
  auto model = std::make_unique<Llama>(source, config, variant);
  expect_decoder_taken(source.weights);
  return model;
}

// With attention_bias all four projections of attention have a bias. With mlp_bias all three
// projections of the MLP have a bias.
Variant llama_variant(const DecoderConfig& config) {
  return {.attention_bias = {.qkv = config.attention_bias, .out = config.attention_bias},
          .mlp_bias = config.mlp_bias,
          .windows = config.every_layer(config.full())};
}

// Returns the window of each layer. Without use_sliding_window no layer has a sliding window.
// Otherwise layer_types marks the layers with a sliding window. Without layer_types, these are the
// layers from max_window_layers on.
std::vector<AttentionWindow> qwen_windows(const JsonFields& json, const DecoderConfig& config) {
  if (!json.boolean_or("use_sliding_window", false)) {
    const std::vector<bool> sliding =
        sliding_layers(json, config.num_hidden_layers, [](int64_t) { return false; });
    if (std::find(sliding.begin(), sliding.end(), true) != sliding.end())
      json.refuse("layer_types", "full_attention alone, because use_sliding_window is false",
                  "sliding_attention");
    return config.every_layer(config.full());
  }
  const AttentionWindow window =
      config.sliding(json.integer("sliding_window", 1, kMaxWindowTokens));
  // The default 28 is from Qwen2Config and Qwen3Config in transformers.
  const int64_t first = json.integer_or("max_window_layers", 28, 0, kMaxLayers);
  const std::vector<bool> sliding = sliding_layers(
      json, config.num_hidden_layers, [first](int64_t layer) { return layer >= first; });
  return layer_windows(config, sliding, window);
}

}  // namespace

std::unique_ptr<Model> load_llama(const ModelSource& source) {
  const DecoderConfig config(source);
  return load(source, config, llama_variant(config));
}

std::unique_ptr<Model> load_eurobert(const ModelSource& source) {
  // 1e-5 is the default of EuroBertConfig in transformers.
  const DecoderConfig config(source, {.default_norm_eps = 1e-5});
  return load(source, config, llama_variant(config));
}

std::unique_ptr<Model> load_mistral(const ModelSource& source) {
  const DecoderConfig config(source);
  // Later releases have sliding_window: null.
  AttentionWindow window = config.full();
  if (!states_null(source.document, "sliding_window"))
    window = config.sliding(
        source.config.integer_or("sliding_window", kDefaultSlidingWindow, 1, kMaxWindowTokens));
  return load(source, config, {.windows = config.every_layer(window)});
}

std::unique_ptr<Model> load_ministral(const ModelSource& source) {
  const JsonFields& json = source.config;
  // The defaults are from MinistralConfig in transformers. Without layer_types all layers have a
  // window, unless sliding_window is null.
  const DecoderConfig config(source);
  const AttentionWindow window =
      config.sliding(json.integer_or("sliding_window", kDefaultSlidingWindow, 1, kMaxWindowTokens));
  const bool slides = !states_null(source.document, "sliding_window");
  const std::vector<bool> sliding =
      sliding_layers(json, config.num_hidden_layers, [slides](int64_t) { return slides; });
  return load(source, config, {.windows = layer_windows(config, sliding, window)});
}

std::unique_ptr<Model> load_ministral3(const ModelSource& source) {
  const JsonFields& json = source.config;
  // The defaults are from Ministral3Config in transformers. Only rope_parameters has no default
  // here: config.json must have it.
  const DecoderConfig config(source, {.default_norm_eps = 1e-5});
  const JsonFields rope = json.fields("rope_parameters");
  AttentionWindow window = config.full();
  if (json.has("sliding_window"))
    window = config.sliding(json.integer("sliding_window", 1, kMaxWindowTokens));
  return load(
      source, config,
      {.windows = config.every_layer(window),
       .query_scale = QueryScale{
           .beta = rope.number("llama_4_scaling_beta", 0, kMaxScaling),
           .trained_length = rope.integer("original_max_position_embeddings", 1, kMaxPositions)}});
}

std::unique_ptr<Model> load_qwen2(const ModelSource& source) {
  const DecoderConfig config(source);
  return load(source, config,
              {.attention_bias = {.qkv = true, .out = false},
               .windows = qwen_windows(source.config, config)});
}

std::unique_ptr<Model> load_qwen3(const ModelSource& source) {
  const DecoderConfig config(source);
  return load(source, config,
              {.attention_bias = {.qkv = config.attention_bias, .out = config.attention_bias},
               .normalize_heads = true,
               .windows = qwen_windows(source.config, config)});
}

}  // namespace encode
