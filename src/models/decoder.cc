#include "models/decoder.h"

#include <fmt/format.h>

#include "model_dir/limits.h"

namespace encode {
DecoderConfig::DecoderConfig(const ModelSource& source, const DecoderFields& fields)
    : ModelSizes(source.sizes),
      attention(AttentionShape::of(*this)),
      rms_norm_eps(source.config.number_or(fields.norm_eps, fields.default_norm_eps, kMinNormEps,
                                           kMaxNormEps)),
      hidden_act(parse_activation_or(source.config, "hidden_act", Activation::kSilu)),
      rope(
          parse_rope(source.config, {.head_dim = head_dim, .default_theta = fields.default_theta})),
      attention_bias(source.config.boolean_or("attention_bias", false)),
      mlp_bias(source.config.boolean_or("mlp_bias", false)) {
  if (head_dim % 2 != 0)
    source.config.refuse("head_dim", "an even number", fmt::to_string(head_dim));
}

AttentionWindow DecoderConfig::sliding(int64_t sliding_window) const {
  return causal ? AttentionWindow{.left = sliding_window - 1, .right = 0}
                : AttentionWindow{.left = sliding_window, .right = sliding_window};
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

FeedForward load_gated_mlp(const ModuleLoader& mlp, const GatedMlpNames& names,
                           const DecoderConfig& config, bool bias) {
  const LinearOptions options = {.bias = bias};
  return FeedForward(
      {.gate_then_up = mlp.fused({{names.gate, config.inner()}, {names.up, config.inner()}},
                                 config.hidden(), options),
       .down = mlp.linear(names.down, config.hidden(), config.inner(), options),
       .gate_activation = config.hidden_act});
}

std::vector<AttentionWindow> layer_windows(const DecoderConfig& config,
                                           const std::vector<bool>& sliding,
                                           AttentionWindow sliding_window) {
  std::vector<AttentionWindow> windows;
  for (const bool slides : sliding) windows.push_back(slides ? sliding_window : config.full());
  return windows;
}

ModuleLoader decoder_root(const ModelSource& source) {
  return {source.weights.root("embed_tokens.weight", {"", "model.", "language_model.",
                                                      "language_model.model.", "embedding_model."}),
          source};
}

void expect_decoder_taken(const Weights& weights) {
  weights.expect_all_taken({"lm_head.weight", "rotary_emb.inv_freq"});
}

}  // namespace encode
