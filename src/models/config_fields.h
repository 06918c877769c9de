// What the config.json files of several architectures have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "models/layers.h"
#include "nn/layers/linear.h"
#include "nn/layers/rope.h"

namespace encode {

// The activation that Hugging Face calls by this name; kGelu is erf, kGeluTanh its approximation.
Activation parse_activation(const JsonFields& config, const std::string& key);
Activation parse_activation_or(const JsonFields& config, const std::string& key,
                               Activation fallback);

// The fields of an encoder, under any of the names that architectures spell them with ("dim" and
// "n_embd" are hidden_size). Throws Error "model.config" where one is missing or out of range, or
// hidden_size is not a multiple of num_attention_heads.
struct EncoderConfig {
  int64_t hidden_size;
  int64_t num_hidden_layers;
  int64_t num_attention_heads;
  int64_t intermediate_size;
  int64_t vocab_size;
  int64_t type_vocab_size;          // 2 where config.json has none, as in BERT
  int64_t max_position_embeddings;  // 0 where config.json has none
  double layer_norm_eps;
  Activation hidden_act;

  explicit EncoderConfig(const JsonFields& json);

  AttentionShape attention() const {
    return AttentionShape::multi_head(hidden_size, num_attention_heads);
  }
  Dim hidden() const { return {"hidden_size", hidden_size}; }
  Dim inner() const { return {"intermediate_size", intermediate_size}; }
};

// Rotary parameters in both generations of config.json: rope_parameters (one object, or one for
// each layer type) of transformers 5, rope_theta and rope_scaling of transformers 4.
struct RopeQuery {
  int64_t head_dim;
  double default_theta = 10000;
  std::string layer_type = {};             // "full_attention": the key below rope_parameters
  std::string theta_key = "rope_theta";    // where transformers 4 kept the base
  bool scaling = true;                     // whether rope_scaling applies to this layer type
  int64_t max_position_embeddings = 2048;  // where config.json has none
};
RopeParameters parse_rope(const JsonFields& config, const RopeQuery& query);

// Whether layer i attends within the sliding window: layer_types where config.json has it, else
// `otherwise`.
bool is_sliding(const JsonFields& config, int64_t layer, bool otherwise);

}  // namespace encode
