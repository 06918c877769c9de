#include "models/config_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "model_dir/limits.h"

namespace encode {
namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 8> kActivations = {{
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
}};

constexpr std::array<std::pair<std::string_view, RopeType>, 6> kRopeTypes = {{
    {"default", RopeType::kDefault},
    {"linear", RopeType::kLinear},
    {"dynamic", RopeType::kDynamic},
    {"ntk", RopeType::kNtk},
    {"yarn", RopeType::kYarn},
    {"llama3", RopeType::kLlama3},
}};

template <typename Table>
auto look_up(const Table& table, const JsonFields& fields, const std::string& key,
             const std::string& name) {
  const auto* const found = std::find_if(table.begin(), table.end(),
                                         [&](const auto& entry) { return entry.first == name; });
  if (found == table.end()) {
    std::vector<std::string_view> names;
    for (const auto& entry : table) names.push_back(entry.first);
    fields.refuse_variant(key, fmt::format("one of: {}", fmt::join(names, ", ")));
  }
  return found->second;
}

// Returns the first of `keys` that config.json has, or keys[0] if it has none of them.
std::string first_key(const JsonFields& json, std::initializer_list<const char*> keys) {
  const auto* const found =
      std::find_if(keys.begin(), keys.end(), [&](const char* key) { return json.has(key); });
  return found != keys.end() ? *found : *keys.begin();
}

// Returns the factor by which YaRN multiplies the cosines and sines (Peng et al. 2023, section
// 3.4).
double yarn_attention_factor(const JsonFields& rope, double factor) {
  if (rope.has("attention_factor"))
    return rope.number("attention_factor", kMinScaling, kMaxScaling);
  const auto magnitude = [factor](double mscale) {
    return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
  };
  const double mscale = rope.number_or("mscale", 0, 0, kMaxScaling);
  const double mscale_all_dim = rope.number_or("mscale_all_dim", 0, 0, kMaxScaling);
  return mscale > 0 && mscale_all_dim > 0 ? magnitude(mscale) / magnitude(mscale_all_dim)
                                          : magnitude(1);
}

void read_scaling(const JsonFields& rope, bool partial, RopeParameters& out) {
  const std::string key = rope.has("rope_type") ? "rope_type" : "type";
  out.type = look_up(kRopeTypes, rope, key, rope.string_or(key, "default"));
  const double rotated = rope.number_or("partial_rotary_factor", 1, 0, 1);
  if (rotated != 1 && !partial)
    rope.refuse_variant("partial_rotary_factor", "1: whole heads are rotated");
  if (out.type == RopeType::kDefault) return;
  out.factor = rope.number("factor", kMinScaling, kMaxScaling);
  out.original_max_position_embeddings = rope.integer_or(
      "original_max_position_embeddings", out.max_position_embeddings, 1, kMaxPositions);
  out.low_freq_factor = rope.number_or("low_freq_factor", 1, kMinScaling, kMaxScaling);
  out.high_freq_factor = rope.number_or("high_freq_factor", 4, kMinScaling, kMaxScaling);
  if (out.type == RopeType::kLlama3 && out.low_freq_factor >= out.high_freq_factor)
    rope.refuse("high_freq_factor", "more than low_freq_factor",
                fmt::format("{:f}", out.high_freq_factor));
  out.beta_fast = rope.number_or("beta_fast", 32, kMinScaling, kMaxScaling);
  out.beta_slow = rope.number_or("beta_slow", 1, kMinScaling, kMaxScaling);
  out.truncate = rope.boolean_or("truncate", true);
  if (out.type == RopeType::kYarn) out.attention_factor = yarn_attention_factor(rope, out.factor);
}

}  // namespace

bool states_null(const Json& document, const std::string& key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_null();
}

Activation parse_activation(const JsonFields& config, const std::string& key) {
  return look_up(kActivations, config, key, config.string(key));
}

Activation parse_activation_or(const JsonFields& config, const std::string& key,
                               Activation fallback) {
  return config.has(key) ? parse_activation(config, key) : fallback;
}

EncoderConfig::EncoderConfig(const ModelSource& source, const EncoderDefaults& defaults)
    : ModelSizes(source.sizes),
      layer_norm_eps(source.config.number_or(
          first_key(source.config, {"layer_norm_eps", "layer_norm_epsilon", "norm_eps"}),
          defaults.layer_norm_eps, kMinNormEps, kMaxNormEps)),
      hidden_act(parse_activation_or(source.config,
                                     first_key(source.config, {"hidden_act", "activation"}),
                                     defaults.hidden_act)) {
  if (source.config.boolean_or("is_decoder", false))
    source.config.refuse_variant("is_decoder", "false: an encoder");
}

RopeParameters parse_rope(const JsonFields& config, const RopeQuery& query) {
  RopeParameters out;
  out.head_dim = query.head_dim;
  out.max_position_embeddings =
      config.integer_or("max_position_embeddings", query.max_position_embeddings, 1, kMaxPositions);
  out.theta = config.number_or(query.theta_key, query.default_theta, 1, kMaxRopeTheta);
  const bool current = config.has("rope_parameters");
  const std::string key = current ? "rope_parameters" : "rope_scaling";
  if (!config.has(key) || (!current && !query.scaling)) return out;
  const JsonFields all = config.fields(key);
  const bool nested = !query.layer_type.empty() && all.has(query.layer_type);
  const JsonFields own = nested ? all.fields(query.layer_type) : all;
  out.theta = own.number_or("rope_theta", out.theta, 1, kMaxRopeTheta);
  read_scaling(own, query.partial, out);
  return out;
}

int64_t rotated_width(const JsonFields& config, int64_t head_dim, const RotatedPart& part) {
  const auto read = [&](const JsonFields& fields, const std::string& key, double fallback) {
    const double factor = fields.number_or(key, fallback, 0, 1);
    const auto width = static_cast<int64_t>(static_cast<double>(head_dim) * factor);
    if (width < 2 || width % 2 != 0) {
      fields.refuse(key, fmt::format("an even part of head_dim {}", head_dim),
                    fmt::format("{}, which is {} elements", factor, width));
    }
    return width;
  };
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!config.has(key)) continue;
    const JsonFields rope = config.fields(key);
    if (rope.has("partial_rotary_factor"))
      return read(rope, "partial_rotary_factor", part.fallback);
  }
  return read(config, part.key, part.fallback);
}

std::vector<bool> sliding_layers(const JsonFields& config, int64_t num_hidden_layers,
                                 const std::function<bool(int64_t layer)>& otherwise) {
  std::vector<bool> sliding;
  if (!config.has("layer_types")) {
    for (int64_t i = 0; i < num_hidden_layers; ++i) sliding.push_back(otherwise(i));
    return sliding;
  }
  const Json& types = config.array("layer_types");
  for (size_t i = 0; i < static_cast<size_t>(num_hidden_layers); ++i) {
    if (i >= types.size() || !types[i].is_string()) {
      config.refuse("layer_types", "a string for each of num_hidden_layers",
                    fmt::format("{} entries", types.size()));
    }
    const auto& type = types[i].get_ref<const std::string&>();
    if (type != "full_attention" && type != "sliding_attention") {
      config.refuse_variant("layer_types", "full_attention or sliding_attention",
                            fmt::format("'{}'", preview(type)));
    }
    sliding.push_back(type == "sliding_attention");
  }
  return sliding;
}

}  // namespace encode
