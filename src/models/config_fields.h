// What the config.json files of several architectures have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "models/layers.h"
#include "nn/layers/linear.h"
#include "nn/layers/rope.h"

namespace encode {

// The activation that field `key` names in Hugging Face's spelling. "gelu" is the exact erf form
// (kGelu); "gelu_new", "gelu_fast" and "gelu_pytorch_tanh" are its tanh approximation (kGeluTanh).
// Throws Error "model.config" that lists the known names if the name is another one.
Activation parse_activation(const JsonFields& config, const std::string& key);
// The same, or `fallback` if config.json has no such field.
Activation parse_activation_or(const JsonFields& config, const std::string& key,
                               Activation fallback);

// The fields of an encoder, under each of the names that architectures have for them ("dim" and
// "n_embd" are hidden_size). Throws Error "model.config" if a field is missing or out of the range
// that model_dir/limits.h states, or if hidden_size is not a multiple of num_attention_heads.
struct EncoderConfig {
  int64_t hidden_size;
  int64_t num_hidden_layers;
  int64_t num_attention_heads;
  int64_t intermediate_size;
  int64_t vocab_size;
  int64_t type_vocab_size;          // 2 (BertConfig) if config.json has none
  int64_t max_position_embeddings;  // 0 if config.json has none
  double layer_norm_eps;
  Activation hidden_act;

  explicit EncoderConfig(const JsonFields& json);

  AttentionShape attention() const {
    return AttentionShape::multi_head(hidden_size, num_attention_heads);
  }
  Dim hidden() const { return {"hidden_size", hidden_size}; }
  Dim inner() const { return {"intermediate_size", intermediate_size}; }
};

// What parse_rope() needs to know about the architecture. The defaults are those of LlamaConfig in
// transformers.
struct RopeQuery {
  int64_t head_dim;  // of the heads that are rotated, even
  double default_theta = 10000;
  std::string layer_type = {};             // key below rope_parameters, such as "full_attention"
  std::string theta_key = "rope_theta";    // the field in which transformers 4 kept the base
  bool scaling = true;                     // rope_scaling applies to this layer type
  int64_t max_position_embeddings = 2048;  // if config.json has none
};
// Reads both generations of config.json: rope_parameters of transformers 5 (one object, or an
// object for each layer type), and rope_theta with rope_scaling of transformers 4. Throws Error
// "model.config" for an unknown rope_type and for a number out of range.
RopeParameters parse_rope(const JsonFields& config, const RopeQuery& query);

// One entry for each layer: true if the layer attends within the sliding window alone. layer_types
// decides if config.json has it, else otherwise(layer), the rule of transformers 4.
std::vector<bool> sliding_layers(const JsonFields& config, int64_t num_hidden_layers,
                                 const std::function<bool(int64_t layer)>& otherwise);

}  // namespace encode
