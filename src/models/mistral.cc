// Mistral 7B (Jiang et al. 2023): every layer sees the last sliding_window tokens, so that after n
// layers a token knows of n windows. Reference: modeling_mistral.py of Hugging Face transformers.
#include "model_dir/limits.h"
#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

//   x = x + Attention(RMSNorm(x))                   over the keys of the window
//   x = x + down(silu(gate(y)) * up(y)),  y = RMSNorm(x)
// No projection has a bias.
PreNormLayer load_layer(const ModuleLoader& layer, const DecoderConfig& config) {
  return {
      .attention_norm = load_norm(layer, "input_layernorm", config),
      .attention = load_attention(layer.scope("self_attn"), config, {.qkv = false, .out = false}),
      .mlp_norm = load_norm(layer, "post_attention_layernorm", config),
      .mlp = load_gated_mlp(layer.scope("mlp"), config, /*bias=*/false)};
}

// Later releases have sliding_window: null, and see everything before a token.
AttentionWindow window(const JsonFields& json, const DecoderConfig& config) {
  if (!json.has("sliding_window")) return config.full();
  return config.sliding(json.integer("sliding_window", 1, kMaxWindowTokens));
}

}  // namespace

std::unique_ptr<Model> load_mistral(const ModelSource& source) {
  const DecoderConfig config(source);
  return load_pre_norm_decoder(source, config, load_layer,
                               config.every_layer(window(source.config, config)));
}

}  // namespace encode
