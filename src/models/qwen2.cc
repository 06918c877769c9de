// Qwen2 (Yang et al. 2024) and Qwen2.5, causal or turned bidirectional. Reference:
// modeling_qwen2.py of Hugging Face transformers.
#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

//   x = x + Attention(RMSNorm(x))                   biases on query, key and value alone
//   x = x + down(silu(gate(y)) * up(y)),  y = RMSNorm(x)
PreNormLayer load_layer(const ModuleLoader& layer, const DecoderConfig& config) {
  return {
      .attention_norm = load_norm(layer, "input_layernorm", config),
      .attention = load_attention(layer.scope("self_attn"), config, {.qkv = true, .out = false}),
      .mlp_norm = load_norm(layer, "post_attention_layernorm", config),
      .mlp = load_gated_mlp(layer.scope("mlp"), config, /*bias=*/false)};
}

}  // namespace

std::unique_ptr<Model> load_qwen2(const ModelSource& source) {
  const DecoderConfig config(source);
  return load_pre_norm_decoder(source, config, load_layer, qwen_windows(source.config, config));
}

}  // namespace encode
