// What Llama and the decoders after it have in common: the fields of config.json, the tensors of
// attention and MLP, and what stands before and behind the layers. Each model's own file has its
// layer and says which keys a layer sees.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/config_fields.h"
#include "models/layers.h"
#include "models/model.h"

namespace encode {

// The fields that these config.json files spell alike. Throws Error "model.config" if a field is
// missing or out of the range that model_dir/limits.h states.
struct DecoderConfig {
  AttentionShape attention;
  int64_t num_hidden_layers;
  int64_t intermediate_size;
  int64_t vocab_size;
  double rms_norm_eps;
  Activation hidden_act;
  RopeParameters rope;
  bool attention_bias;  // false if config.json has none, as are the next
  bool mlp_bias;
  bool causal;  // ModelSource::causal, else is_causal, else true

  // `default_head_dim` is the head_dim of a config.json that has none; 0: hidden_size /
  // num_attention_heads.
  explicit DecoderConfig(const ModelSource& source, int64_t default_head_dim = 0);

  Dim hidden() const { return attention.hidden(); }
  Dim head() const { return {"head_dim", attention.head_dim}; }
  Dim inner() const { return {"intermediate_size", intermediate_size}; }

  // The keys that a query sees in a layer without a sliding window: all up to its own if the model
  // is causal, all of the text if not.
  AttentionWindow full() const { return causal ? AttentionWindow::causal() : AttentionWindow{}; }
  // The keys that a query sees in a layer with sliding_window W: W keys with its own if the model
  // is causal, W keys to either side if not.
  AttentionWindow sliding(int64_t sliding_window) const;
  // One window for every layer.
  std::vector<AttentionWindow> every_layer(AttentionWindow window) const {
    return std::vector(static_cast<size_t>(num_hidden_layers), window);
  }
};

// Which projections of attention have a bias.
struct AttentionBias {
  bool qkv;
  bool out;
};

// Grouped-query attention from q_proj, k_proj, v_proj and o_proj.
SelfAttention load_attention(const ModuleLoader& self_attn, const DecoderConfig& config,
                             const AttentionBias& bias);

// down_proj(hidden_act(gate_proj(x)) * up_proj(x)).
FeedForward load_gated_mlp(const ModuleLoader& mlp, const DecoderConfig& config, bool bias);

// The keys that each layer sees: those of `sliding_window` in the layers that `sliding` marks,
// DecoderConfig::full() in the others.
std::vector<AttentionWindow> layer_windows(const DecoderConfig& config,
                                           const std::vector<bool>& sliding,
                                           AttentionWindow sliding_window);

// The parts of a decoder under the names that all decoders' checkpoints have.
template <typename Layer>
struct DecoderParts {
  at::Tensor embed_tokens;  // [vocab_size, hidden_size]
  std::vector<Layer> layers;
  RmsNorm norm;  // behind the last layer

  // Layer i is what load_layer(loader, config) makes of the tensors below "layers.i".
  template <std::invocable<const ModuleLoader&, const DecoderConfig&> Load>
  DecoderParts(const ModuleLoader& root, const DecoderConfig& config, const Load& load_layer,
               RmsWeight norm_weight = RmsWeight::kPlain)
      : embed_tokens(
            root.table("embed_tokens", {"vocab_size", config.vocab_size}, config.hidden())),
        layers(root.layers("layers.", config.num_hidden_layers, load_layer, config)),
        norm(root.rms_norm("norm", config.hidden(), config.rms_norm_eps, norm_weight)) {}
};

// The scope of the tensors, with or without the prefix of a checkpoint that has a head.
ModuleLoader decoder_root(const ModelSource& source);
// Throws Error "model.tensor" if the checkpoint has a tensor that the decoder did not take.
void expect_decoder_taken(const Weights& weights);

}  // namespace encode
