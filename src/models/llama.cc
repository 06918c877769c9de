// Llama (Touvron et al. 2023; Llama 3: Grattafiori et al. 2024), causal or turned bidirectional.
// Reference: modeling_llama.py of Hugging Face transformers.
#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

//   x = x + Attention(RMSNorm(x))                   grouped queries, rotary positions
//   x = x + down(silu(gate(y)) * up(y)),  y = RMSNorm(x)
// attention_bias gives all four projections of attention a bias, mlp_bias all three of the MLP.
PreNormLayer load_layer(const ModuleLoader& layer, const DecoderConfig& config) {
  return {.attention_norm = load_norm(layer, "input_layernorm", config),
          .attention = load_attention(layer.scope("self_attn"), config,
                                      {.qkv = config.attention_bias, .out = config.attention_bias}),
          .mlp_norm = load_norm(layer, "post_attention_layernorm", config),
          .mlp = load_gated_mlp(layer.scope("mlp"), config, config.mlp_bias)};
}

}  // namespace

std::unique_ptr<Model> load_llama(const ModelSource& source) {
  const DecoderConfig config(source);
  return load_pre_norm_decoder(source, config, load_layer, config.every_layer(config.full()));
}

}  // namespace encode
