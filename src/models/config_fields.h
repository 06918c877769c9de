// The fields of config.json that several architectures have.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "models/layers.h"
#include "models/model.h"
#include "nn/layers/linear.h"
#include "nn/layers/rope.h"

namespace encode {

// Returns true if the field is present and null. For a few fields null does not mean the same as a
// missing field.
bool states_null(const Json& document, const std::string& key);

// Returns the activation that field `key` names in the spelling of Hugging Face. "gelu" and
// "gelu_python" are the exact form with erf (kGelu). "gelu_new", "gelu_fast" and
// "gelu_pytorch_tanh" are its tanh approximation (kGeluTanh). Throws Error "model.config" with the
// list of known names if the name is not known.
Activation parse_activation(const JsonFields& config, const std::string& key);
// Does what parse_activation() does, but returns `fallback` if config.json does not have the field.
Activation parse_activation_or(const JsonFields& config, const std::string& key,
                               Activation fallback);

// The defaults of fields of EncoderConfig that config.json does not have. These are the values of
// BertConfig in transformers. An architecture with other defaults states them.
struct EncoderDefaults {
  double layer_norm_eps = 1e-12;
  Activation hidden_act = Activation::kGelu;
};

// The sizes and the other fields of config.json for an encoder. Throws Error "model.config" if a
// field is out of the range that model_dir/limits.h states, or if is_decoder is true.
struct EncoderConfig : ModelSizes {
  double layer_norm_eps;
  Activation hidden_act;

  explicit EncoderConfig(const ModelSource& source, const EncoderDefaults& defaults = {});

  AttentionShape attention() const { return AttentionShape::of(*this); }
  Dim hidden() const { return {"hidden_size", hidden_size}; }
  Dim inner() const { return {"intermediate_size", intermediate_size}; }
};

// The arguments of parse_rope(). The defaults are from LlamaConfig in transformers.
struct RopeQuery {
  int64_t head_dim;      // the width of the rotated part of a head; must be even
  bool partial = false;  // head_dim is the result of rotated_width()
  double default_theta = 10000;
  std::string layer_type = {};             // a key of rope_parameters, such as "full_attention"
  std::string theta_key = "rope_theta";    // the field with the base in transformers 4
  bool scaling = true;                     // rope_scaling applies to this layer type
  int64_t max_position_embeddings = 2048;  // used if config.json has no such field
};
// Reads the rotary fields of both generations of config.json:
//   transformers 5   rope_parameters: one object, or an object for each layer type
//   transformers 4   rope_theta and rope_scaling
// Throws Error "model.config" if rope_type is unknown or a number is out of range.
RopeParameters parse_rope(const JsonFields& config, const RopeQuery& query);

// The share of a head that is rotated, from 0 to 1, where config.json has no rope_parameters.
struct RotatedPart {
  std::string key;  // the field in transformers 4: "rotary_pct", "partial_rotary_factor"
  double fallback;  // the share if config.json has no such field
};
// Returns the width of the rotated part of a head of `head_dim` elements (GPT-NeoX, Phi): head_dim
// times its share, rounded down. The share is partial_rotary_factor of rope_parameters
// (transformers 5), else part.key of config.json (transformers 4), else part.fallback. Throws Error
// "model.config" if the width is odd or 0.
int64_t rotated_width(const JsonFields& config, int64_t head_dim, const RotatedPart& part);

// Returns one entry for each layer: true if the attention of the layer has a sliding window. The
// field layer_types decides. If config.json does not have this field, otherwise(layer) decides,
// which is the rule of the architecture in transformers 4. Throws Error "model.config" if
// layer_types is not valid.
std::vector<bool> sliding_layers(const JsonFields& config, int64_t num_hidden_layers,
                                 const std::function<bool(int64_t layer)>& otherwise);

}  // namespace encode
