#include "models/decoder.h"

#include <cmath>
#include <fmt/format.h>

#include <ATen/ops/embedding.h>

#include "model_dir/limits.h"

namespace encode {
namespace {

AttentionShape read_attention(const JsonFields& json, int64_t default_head_dim) {
  const int64_t hidden_size = json.integer("hidden_size", 1, kMaxHiddenSize);
  const int64_t heads = json.integer("num_attention_heads", 1, kMaxHeads);
  AttentionShape shape = AttentionShape::multi_head(hidden_size, heads);
  shape.num_key_value_heads = json.integer_or("num_key_value_heads", heads, 1, kMaxHeads);
  if (heads % shape.num_key_value_heads != 0) {
    json.refuse("num_key_value_heads", fmt::format("a divisor of num_attention_heads {}", heads),
                std::to_string(shape.num_key_value_heads));
  }
  shape.head_dim = json.integer_or(
      "head_dim", default_head_dim > 0 ? default_head_dim : shape.head_dim, 2, kMaxHeadDim);
  if (shape.head_dim % 2 != 0)
    json.refuse("head_dim", "an even number", std::to_string(shape.head_dim));
  shape.scale = 1 / std::sqrt(static_cast<double>(shape.head_dim));
  return shape;
}

}  // namespace

DecoderConfig::DecoderConfig(const ModelSource& source, int64_t default_head_dim)
    : attention(read_attention(source.config, default_head_dim)),
      num_hidden_layers(source.config.integer("num_hidden_layers", 1, kMaxLayers)),
      intermediate_size(source.config.integer("intermediate_size", 1, kMaxIntermediateSize)),
      vocab_size(source.config.integer("vocab_size", 1, kMaxVocabSize)),
      rms_norm_eps(source.config.number_or("rms_norm_eps", 1e-6, kMinNormEps, kMaxNormEps)),
      hidden_act(parse_activation_or(source.config, "hidden_act", Activation::kSilu)),
      rope(parse_rope(source.config, {.head_dim = attention.head_dim})),
      attention_bias(source.config.boolean_or("attention_bias", false)),
      mlp_bias(source.config.boolean_or("mlp_bias", false)),
      causal(source.causal.value_or(source.config.boolean_or("is_causal", true))) {}

AttentionWindow DecoderConfig::sliding(int64_t sliding_window) const {
  return causal ? AttentionWindow{.left = sliding_window - 1, .right = 0}
                : AttentionWindow{.left = sliding_window, .right = sliding_window};
}

RmsNorm load_norm(const ModuleLoader& layer, const std::string& name, const DecoderConfig& config) {
  return layer.rms_norm(name, config.hidden(), config.rms_norm_eps);
}

SelfAttention load_attention(const ModuleLoader& self_attn, const DecoderConfig& config,
                             const AttentionBias& bias) {
  const AttentionShape& shape = config.attention;
  return {
      self_attn.fused(
          {{"q_proj", shape.query()}, {"k_proj", shape.key_value()}, {"v_proj", shape.key_value()}},
          shape.hidden(), {.bias = bias.qkv}),
      self_attn.linear("o_proj", shape.hidden(), shape.query(), {.bias = bias.out}), shape};
}

FeedForward load_gated_mlp(const ModuleLoader& mlp, const DecoderConfig& config, bool bias) {
  const LinearOptions options = {.bias = bias};
  return FeedForward::gated(mlp.fused({{"gate_proj", config.inner()}, {"up_proj", config.inner()}},
                                      config.hidden(), options),
                            mlp.linear("down_proj", config.hidden(), config.inner(), options),
                            config.hidden_act);
}

std::vector<AttentionWindow> layer_windows(const DecoderConfig& config,
                                           const std::vector<bool>& sliding,
                                           AttentionWindow sliding_window) {
  std::vector<AttentionWindow> windows;
  for (const bool slides : sliding) windows.push_back(slides ? sliding_window : config.full());
  return windows;
}

std::vector<AttentionWindow> qwen_windows(const JsonFields& json, const DecoderConfig& config) {
  if (!json.boolean_or("use_sliding_window", false)) return config.every_layer(config.full());
  const AttentionWindow window =
      config.sliding(json.integer("sliding_window", 1, kMaxWindowTokens));
  // 28: Qwen2Config and Qwen3Config in transformers.
  const int64_t first = json.integer_or("max_window_layers", 28, 0, kMaxLayers);
  const std::vector<bool> sliding = sliding_layers(
      json, config.num_hidden_layers, [first](int64_t layer) { return layer >= first; });
  return layer_windows(config, sliding, window);
}

ModuleLoader decoder_root(const ModelSource& source) {
  return {source.weights.root("embed_tokens.weight",
                              {"", "model.", "language_model.", "language_model.model."}),
          source};
}

void expect_decoder_taken(const Weights& weights) {
  weights.expect_all_taken({"lm_head.weight", "rotary_emb.inv_freq"});
}

at::Tensor PreNormDecoder::forward(const PackedInput& batch) const {
  const RotaryAngles angles = rotary_.angles(batch);
  ResidualSum x = {at::embedding(parts_.embed_tokens, batch.input_ids)};
  x = run_layers(parts_.layers, x, [&](size_t layer) {
    return LayerContext{.batch = batch, .window = windows_[layer], .rotary = &angles};
  });
  return parts_.norm(x);
}

std::unique_ptr<Model> load_pre_norm_decoder(const ModelSource& source, const DecoderConfig& config,
                                             PreNormLayer (*load_layer)(const ModuleLoader&,
                                                                        const DecoderConfig&),
                                             std::vector<AttentionWindow> windows) {
  auto model = std::make_unique<PreNormDecoder>(
      DecoderParts<PreNormLayer>(decoder_root(source), config, load_layer),
      Rotary(config.rope, source.max_positions, source.device), std::move(windows));
  expect_decoder_taken(source.weights);
  return model;
}

}  // namespace encode
