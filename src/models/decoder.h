// The parts that Llama, Gemma, LFM2, OLMo and Qwen3 with experts share: the fields of config.json,
// the tensors of attention and MLP, and the tensors before and after the layers. The layers are in
// llama.cc, gemma.cc and so on.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "models/config_fields.h"
#include "models/layers.h"
#include "models/model.h"

namespace encode {

// What differs between the architectures: the name of the field with the norm's epsilon, and two
// defaults. The values here are from LlamaConfig in transformers.
struct DecoderFields {
  std::string norm_eps = "rms_norm_eps";
  double default_norm_eps = 1e-6;
  double default_theta = 10000;
};

// The fields of config.json that have the same names in these architectures. Throws Error
// "model.config" if a field is missing or out of the range that model_dir/limits.h states.
struct DecoderConfig : ModelSizes {
  AttentionShape attention;
  double rms_norm_eps;
  Activation hidden_act;
  RopeParameters rope;
  bool attention_bias;  // default false
  bool mlp_bias;        // default false

  explicit DecoderConfig(const ModelSource& source, const DecoderFields& fields = {});

  Dim hidden() const { return attention.hidden(); }
  Dim head() const { return {"head_dim", head_dim}; }
  Dim inner() const { return {"intermediate_size", intermediate_size}; }

  // Returns the window of a layer without a sliding window. In a causal model a query sees all keys
  // up to its own position. Otherwise it sees all keys of the text.
  AttentionWindow full() const { return causal ? AttentionWindow::causal() : AttentionWindow{}; }
  // Returns the window of a layer with a sliding window. In a causal model a query sees the last
  // `sliding_window` keys, including the key at its own position. Otherwise it sees
  // `sliding_window` keys on either side.
  AttentionWindow sliding(int64_t sliding_window) const;
  // Returns `window` once for each layer.
  std::vector<AttentionWindow> every_layer(AttentionWindow window) const {
    return std::vector(static_cast<size_t>(num_hidden_layers), window);
  }
};

// Which projections of attention have a bias.
struct AttentionBias {
  bool qkv;
  bool out;
};

// Grouped-query attention from q_proj, k_proj, v_proj and o_proj. Throws what ModuleLoader throws.
SelfAttention load_attention(const ModuleLoader& self_attn, const DecoderConfig& config,
                             const AttentionBias& bias);

// The default of sliding_window in the configurations of transformers (Mistral, Qwen2, Gemma 2).
inline constexpr int64_t kDefaultSlidingWindow = 4096;

// The names of the tensors of MLP(x) = down(hidden_act(gate(x)) * up(x)).
struct GatedMlpNames {
  const char* gate;
  const char* up;
  const char* down;
};
// The names in most decoders.
inline constexpr GatedMlpNames kUsualMlpNames = {
    .gate = "gate_proj", .up = "up_proj", .down = "down_proj"};
// Throws what ModuleLoader throws.
FeedForward load_gated_mlp(const ModuleLoader& mlp, const GatedMlpNames& names,
                           const DecoderConfig& config, bool bias);

// Returns the window of each layer: `sliding_window` if `sliding` is true for the layer, else
// config.full().
std::vector<AttentionWindow> layer_windows(const DecoderConfig& config,
                                           const std::vector<bool>& sliding,
                                           AttentionWindow sliding_window);

// The tensors of a decoder. They have the same names in the checkpoints of all decoders.
template <typename Layer>
struct DecoderParts {
  at::Tensor embed_tokens;  // [vocab_size, hidden_size]
  std::vector<Layer> layers;
  RmsNorm norm;  // after the last layer

  // Layer i is the result of load_layer(loader, config), with the loader of the scope "layers.i".
  template <std::invocable<const ModuleLoader&, const DecoderConfig&> Load>
  DecoderParts(const ModuleLoader& root, const DecoderConfig& config, const Load& load_layer,
               RmsWeight norm_weight = RmsWeight::kPlain)
      : embed_tokens(
            root.table("embed_tokens", {"vocab_size", config.vocab_size}, config.hidden())),
        layers(root.layers("layers.", config.num_hidden_layers, load_layer, config)),
        norm(root.rms_norm("norm", config.hidden(), config.rms_norm_eps, norm_weight)) {}
};

// Returns the loader of the scope that has embed_tokens. Checkpoints with a head put the model
// below a prefix such as "model.". Throws Error "model.tensor" (kConfig) if no scope has
// embed_tokens.
ModuleLoader decoder_root(const ModelSource& source);
// Throws Error "model.tensor" if the checkpoint has a tensor that the decoder has not loaded,
// unless the tensor belongs to a language model head.
void expect_decoder_taken(const Weights& weights);

}  // namespace encode
