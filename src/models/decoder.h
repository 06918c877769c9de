// The block of Llama and of the models that follow it: Mistral, Qwen, Gemma, EuroBERT. Their files
// say what each of them changes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/config_fields.h"
#include "models/model.h"

namespace encode {

struct DecoderConfig {
  AttentionShape attention;
  int64_t num_hidden_layers;
  int64_t intermediate_size;
  int64_t vocab_size;
  double rms_norm_eps;
  Activation hidden_act = Activation::kSilu;
  RopeParameters rope;
  bool causal;

  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool normalize_heads = false;  // an RMS norm over each query and key head
  RmsWeight norm_weight = RmsWeight::kPlain;
  bool norm_after = false;     // a norm behind each half too, before the residual sum
  double embedding_scale = 1;  // multiplies the word embeddings

  // For each layer, whether it sees the window alone. Empty: every layer sees everything.
  std::vector<bool> sliding = {};
  AttentionWindow window = {};
  std::optional<RopeParameters> sliding_rope = {};  // of those layers; none: `rope`

  // The fields that all of these config.json files share. head_dim is hidden_size /
  // num_attention_heads where neither the file nor `head_dim` (not 0) says.
  explicit DecoderConfig(const ModelSource& source, int64_t head_dim = 0);

  // The keys that a layer with sliding_window W sees: W with its own in a causal model, W to either
  // side in one that was turned bidirectional.
  AttentionWindow window_of(int64_t sliding_window) const;
  // attention_bias and mlp_bias of config.json.
  void read_biases(const JsonFields& json);
};

std::unique_ptr<Model> load_decoder(const ModelSource& source, const DecoderConfig& config);

}  // namespace encode
