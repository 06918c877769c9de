// EuroBERT (Boizard et al. 2025): Llama's layer in an encoder. Reference: modeling_eurobert.py of
// Hugging Face transformers.
#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

//   x = x + Attention(RMSNorm(x))                   grouped queries, over the whole text
//   x = x + down(silu(gate(y)) * up(y)),  y = RMSNorm(x)
PreNormLayer load_layer(const ModuleLoader& layer, const DecoderConfig& config) {
  const bool bias = config.attention_bias;
  return {.attention_norm = load_norm(layer, "input_layernorm", config),
          .attention = load_attention(layer.scope("self_attn"), config, {.qkv = bias, .out = bias}),
          .mlp_norm = load_norm(layer, "post_attention_layernorm", config),
          .mlp = load_gated_mlp(layer.scope("mlp"), config, config.mlp_bias)};
}

}  // namespace

std::unique_ptr<Model> load_eurobert(const ModelSource& source) {
  DecoderConfig config(source);
  config.causal = source.causal.value_or(false);  // is_causal of config.json is not read
  return load_pre_norm_decoder(source, config, load_layer, config.every_layer(config.full()));
}

}  // namespace encode
