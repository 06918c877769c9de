// Qwen3 (Yang et al. 2025): the biases of Qwen2 gave way to norms over the heads. Reference:
// modeling_qwen3.py of Hugging Face transformers.
#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

constexpr int64_t kHeadDim = 128;  // Qwen3Config in transformers

// q = rotate(RMSNorm(q)), k = rotate(RMSNorm(k)), head by head.
SelfAttention load_normalized_attention(const ModuleLoader& self_attn,
                                        const DecoderConfig& config) {
  const bool bias = config.attention_bias;
  SelfAttention attention = load_attention(self_attn, config, {.qkv = bias, .out = bias});
  attention.normalize_heads(self_attn.rms_norm("q_norm", config.head(), config.rms_norm_eps),
                            self_attn.rms_norm("k_norm", config.head(), config.rms_norm_eps));
  return attention;
}

//   x = x + Attention(RMSNorm(x))                   with the norms above
//   x = x + down(silu(gate(y)) * up(y)),  y = RMSNorm(x)
PreNormLayer load_layer(const ModuleLoader& layer, const DecoderConfig& config) {
  return {.attention_norm = load_norm(layer, "input_layernorm", config),
          .attention = load_normalized_attention(layer.scope("self_attn"), config),
          .mlp_norm = load_norm(layer, "post_attention_layernorm", config),
          .mlp = load_gated_mlp(layer.scope("mlp"), config, /*bias=*/false)};
}

}  // namespace

std::unique_ptr<Model> load_qwen3(const ModelSource& source) {
  const DecoderConfig config(source, kHeadDim);
  return load_pre_norm_decoder(source, config, load_layer, qwen_windows(source.config, config));
}

}  // namespace encode
