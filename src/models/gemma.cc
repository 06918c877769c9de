// Gemma, Gemma 2, Gemma 3 and EmbeddingGemma, which is Gemma 3 looking both ways.
#include <cmath>

#include "models/architectures.h"
#include "models/decoder.h"

namespace encode {
namespace {

constexpr int64_t kHeadDim = 256;
constexpr int64_t kSlidingWindow = 4096;

// What the whole family adds to Llama: norms that multiply by 1 + weight, tanh GELU, word
// embeddings times sqrt(hidden_size).
DecoderConfig gemma_config(const ModelSource& source) {
  DecoderConfig config(source, kHeadDim);
  config.norm_weight = RmsWeight::kPlusOne;
  config.embedding_scale = std::sqrt(static_cast<double>(config.attention.hidden_size));
  config.qkv_bias = config.out_bias = source.config.boolean_or("attention_bias", false);
  // Early files say "gelu" in hidden_act where the model was trained with the tanh form, and have
  // the truth, or nothing, in hidden_activation.
  config.hidden_act =
      parse_activation_or(source.config, "hidden_activation", Activation::kGeluTanh);
  return config;
}

// What Gemma 2 and 3 add: norms on both sides, a scale of their own for the scores, soft caps.
DecoderConfig gemma2_config(const ModelSource& source) {
  const JsonFields& json = source.config;
  DecoderConfig config = gemma_config(source);
  config.norm_after = true;
  config.attention.scale =
      1 / std::sqrt(json.number_or("query_pre_attn_scalar", kHeadDim, 1e-3, 1e6));
  config.attention.softcap = json.number_or("attn_logit_softcapping", 0, 0, 1e6);
  return config;
}

}  // namespace

std::unique_ptr<Model> load_gemma(const ModelSource& source) {
  DecoderConfig config = gemma_config(source);
  if (!source.config.has("hidden_activation") && source.config.has("hidden_act") &&
      source.config.string("hidden_act") != "gelu") {
    config.hidden_act = parse_activation(source.config, "hidden_act");
  }
  return load_decoder(source, config);
}

std::unique_ptr<Model> load_gemma2(const ModelSource& source) {
  const JsonFields& json = source.config;
  DecoderConfig config = gemma2_config(source);
  config.window = config.window_of(json.integer_or("sliding_window", kSlidingWindow, 1, 1 << 24));
  for (int64_t i = 0; i < config.num_hidden_layers; ++i)
    config.sliding.push_back(is_sliding(json, i, i % 2 == 0));
  return load_decoder(source, config);
}

std::unique_ptr<Model> load_gemma3(const ModelSource& source) {
  const JsonFields& json = source.config;
  const int64_t window = json.integer_or("sliding_window", kSlidingWindow, 1, 1 << 24);
  const bool bidirectional = json.boolean_or("use_bidirectional_attention", false);
  DecoderConfig config = gemma2_config(source);
  config.attention.softcap = 0;  // in the file, but not in the model
  config.normalize_heads = true;
  config.causal = source.causal.value_or(config.causal && !bidirectional);
  // Looking both ways the window is the width of the whole neighbourhood.
  config.window = config.causal ? config.window_of(window) : config.window_of(window / 2);
  const int64_t every = json.integer_or(
      json.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern", 6,
      1, 256);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i)
    config.sliding.push_back(is_sliding(json, i, (i + 1) % every != 0));
  config.rope = parse_rope(json, {.head_dim = config.attention.head_dim,
                                  .default_theta = 1e6,
                                  .layer_type = "full_attention"});
  config.sliding_rope = parse_rope(json, {.head_dim = config.attention.head_dim,
                                          .layer_type = "sliding_attention",
                                          .theta_key = "rope_local_base_freq",
                                          .scaling = false});
  return load_decoder(source, config);
}

}  // namespace encode
