#include "model_dir/model_sizes.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "model_dir/extra_weights.h"
#include "model_dir/limits.h"

namespace encode {
namespace {

// Returns the first of `names` that config.json has, or names[0] if it has none of them.
std::string stated_name(const JsonFields& fields, const FieldNames& names) {
  const bool second = names[1] != nullptr && !fields.has(names[0]) && fields.has(names[1]);
  return names[second ? 1 : 0];
}

int64_t width_of_mlp(const SizeFields& names, int64_t hidden_size, const JsonFields& fields) {
  const std::string name = stated_name(fields, names.inner);
  switch (names.inner_width) {
    case InnerWidth::kStated:
      return fields.integer(name, 1, kMaxIntermediateSize);
    case InnerWidth::kFourTimes:
      return 4 * hidden_size;
    case InnerWidth::kFourTimesOrStated:
      return fields.integer_or(name, 4 * hidden_size, 1, kMaxIntermediateSize);
    case InnerWidth::kLfm2:
      return lfm2_intermediate_size(fields);
  }
  return 0;
}

bool is_causal(Causality causality, const JsonFields& fields) {
  switch (causality) {
    case Causality::kNever:
      return false;
    case Causality::kAlways:
      return true;
    case Causality::kUnlessStated:
      return fields.boolean_or("is_causal", true);
    case Causality::kUnlessBidirectional:
      return fields.boolean_or("is_causal", true) &&
             !fields.boolean_or("use_bidirectional_attention", false);
  }
  return false;
}

bool is_gated(const Traits& traits, const Positions& positions, const JsonFields& fields) {
  switch (traits.mlp) {
    case MlpForm::kPlain:
      return false;
    case MlpForm::kGated:
      return true;
    case MlpForm::kGatedWithAlibi:
      return positions.scores == ScorePositions::kRelative;
    case MlpForm::kByActivationFunction:
      return fields.string_or("activation_function", "swiglu").ends_with("glu");
    case MlpForm::kPlainUnlessStated:
    case MlpForm::kGatedUnlessStated:
      // transformers derives is_gated_act from feed_forward_proj and may save it. A saved value
      // counts.
      return fields.boolean_or("is_gated_act",
                               t5_feed_forward(traits.mlp, fields).starts_with("gated-"));
  }
  return false;
}

void read_attention(const SizeFields& names, const JsonFields& fields, ModelSizes& sizes) {
  const std::string heads_name = stated_name(fields, names.heads);
  const int64_t heads = fields.integer(heads_name, 1, kMaxHeads);
  sizes.num_attention_heads = sizes.num_key_value_heads = heads;
  if (names.grouped_queries) {
    const int64_t usual =
        names.key_value_heads_fallback > 0 ? names.key_value_heads_fallback : heads;
    sizes.num_key_value_heads = fields.integer_or("num_key_value_heads", usual, 1, kMaxHeads);
    if (heads % sizes.num_key_value_heads != 0) {
      fields.refuse("num_key_value_heads", fmt::format("a divisor of {} {}", heads_name, heads),
                    fmt::to_string(sizes.num_key_value_heads));
    }
  }
  sizes.head_dim = sizes.hidden_size / heads;
  if (names.head_dim == nullptr && sizes.hidden_size % heads != 0) {
    fields.refuse(heads_name,
                  fmt::format("a divisor of {}, which is {}; either of the two may be wrong",
                              stated_name(fields, names.hidden_size), sizes.hidden_size),
                  fmt::to_string(heads));
  }
  if (names.head_dim == nullptr) return;
  const int64_t usual = names.head_dim_fallback > 0 ? names.head_dim_fallback : sizes.head_dim;
  sizes.head_dim = names.head_dim_fallback == SizeFields::kRequired
                       ? fields.integer(names.head_dim, 1, kMaxHeadDim)
                       : fields.integer_or(names.head_dim, usual, 2, kMaxHeadDim);
}

void read_embeddings(const SizeFields& names, const JsonFields& fields, ModelSizes& sizes) {
  sizes.embedding_size = names.embedding_size == nullptr
                             ? sizes.hidden_size
                             : fields.integer_or(names.embedding_size,
                                                 names.embedding_size_fallback, 1, kMaxHiddenSize);
  sizes.projects_embeddings = names.always_projects || sizes.embedding_size != sizes.hidden_size;
  if (names.segments)
    sizes.type_vocab_size =
        fields.integer_or("type_vocab_size", names.segments_fallback, 0, kMaxTokenTypes);
}

}  // namespace

JsonFields text_config(const Traits& traits, const JsonFields& config) {
  if (!traits.has_text_config) return config;
  return config.fields("text_config");
}

Positions positions_of(const Traits& traits, const JsonFields& fields) {
  Positions positions = traits.positions;
  const OtherPositions& other = traits.other_positions;
  if (!other.type.empty() && fields.string_or("position_embedding_type", "absolute") == other.type)
    positions = other.positions;
  if (traits.extra_weights != ExtraWeights::kDisentangled) return positions;
  if (!fields.boolean_or("relative_attention", false)) positions.scores = ScorePositions::kNone;
  if (!fields.boolean_or("position_biased_input", true)) positions.table = PositionTable::kNone;
  return positions;
}

int64_t max_positions_of(const Traits& traits, const JsonFields& fields) {
  // XLNet writes -1 for "no limit", which is 0 here.
  return std::max<int64_t>(
      0, fields.integer_or(traits.fields.positions, traits.fields.positions_fallback, -1,
                           kMaxPositions));
}

ModelSizes model_sizes(const ArchitectureEntry& entry, const JsonFields& config) {
  const Traits& traits = entry.traits;
  const SizeFields& names = traits.fields;
  const JsonFields fields = text_config(traits, config);
  ModelSizes sizes;
  sizes.architecture = entry.key;
  sizes.hidden_size = fields.integer(stated_name(fields, names.hidden_size), 1, kMaxHiddenSize);
  sizes.vocab_size = fields.integer("vocab_size", 1, kMaxVocabSize);
  read_embeddings(names, fields, sizes);
  if (names.layers[0] == nullptr) return sizes;
  sizes.num_hidden_layers = fields.integer(stated_name(fields, names.layers), 1, kMaxLayers);
  read_attention(names, fields, sizes);
  sizes.intermediate_size = width_of_mlp(names, sizes.hidden_size, fields);
  sizes.max_position_embeddings = max_positions_of(traits, fields);
  sizes.positions = positions_of(traits, fields);
  sizes.gated = is_gated(traits, sizes.positions, fields);
  sizes.causal = is_causal(traits.causality, fields);
  sizes.stored_layers = sizes.attention_layers = sizes.mlp_layers = sizes.num_hidden_layers;
  add_extra_weights(traits.extra_weights, config, sizes);
  return sizes;
}

}  // namespace encode
