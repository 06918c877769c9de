// What distinguishes one family of models from another: constants for the checks of a model
// directory, the memory plan and the loaders. A fact that only a loader needs is in the file of the
// model in src/models. This header does not use LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace encode {

// Learned vectors of positions, which limit the length of a text.
enum class PositionTable {
  kNone,
  kFromZero,      // at most max_position_embeddings tokens
  kAfterPadding,  // the same, but positions count from pad_token_id + 1 (RoBERTa)
};

// How positions change the scores of attention.
enum class ScorePositions {
  kNone,
  kRotary,    // queries and keys are rotated
  kRelative,  // a score depends on the distance of its tokens (T5, MPNet, ALiBi, DeBERTa)
};

struct Positions {
  PositionTable table = PositionTable::kNone;
  ScorePositions scores = ScorePositions::kNone;
};

inline constexpr Positions kAbsolutePositions = {PositionTable::kFromZero, ScorePositions::kNone};
inline constexpr Positions kPositionsAfterPadding = {PositionTable::kAfterPadding,
                                                     ScorePositions::kNone};
inline constexpr Positions kRotaryPositions = {PositionTable::kNone, ScorePositions::kRotary};
inline constexpr Positions kRelativePositions = {PositionTable::kNone, ScorePositions::kRelative};

// The positions of a model whose config.json has this position_embedding_type.
struct OtherPositions {
  std::string_view type = {};  // "": the architecture has no other positions
  Positions positions = {};
};

enum class Causality {
  kNever,
  kAlways,               // whatever config.json says
  kUnlessStated,         // is_causal decides; the default is true
  kUnlessBidirectional,  // is_causal and use_bidirectional_attention decide
};

// Whether the MLP is gated: down(act(gate(x)) * up(x)).
enum class MlpForm {
  kPlain,
  kGated,
  kGatedWithAlibi,        // gated if the positions are ALiBi's
  kByActivationFunction,  // gated if the name of activation_function ends in "glu"
  kPlainUnlessStated,     // is_gated_act and feed_forward_proj decide
  kGatedUnlessStated,     // the same fields decide; the default is gated
};

// The weights of an architecture in addition to the usual layers and tables. add_extra_weights() in
// extra_weights.cc counts them.
enum class ExtraWeights {
  kNone,
  kSharedLayers,          // several layers share their weights (ALBERT)
  kTaskTypes,             // ERNIE's table of tasks
  kDisentangled,          // DeBERTa's relative positions and their projections
  kMpNetBuckets,          // a table of relative biases with 32 rows
  kBuckets,               // a table of relative biases (T5)
  kBucketsOfEachLayer,    // the same in each layer (UMT5)
  kShortConvolutions,     // in place of attention in some layers (LFM2)
  kExperts,               // in place of the MLP in most layers (Qwen3-MoE)
  kEveryNthLayerExperts,  // plain experts in every moe_every_n_layers-th layer (Nomic)
  kLatentAttention,       // after the last layer (NV-Embed)
};

// The names that config.json may have for a size; the first one that is present counts. A message
// about a missing size shows the first name.
using FieldNames = std::array<const char*, 2>;

// The width of the MLP.
enum class InnerWidth {
  kStated,
  kFourTimes,          // 4 x hidden_size, whatever config.json says
  kFourTimesOrStated,  // 4 x hidden_size if config.json does not state it
  kLfm2,               // see lfm2_intermediate_size()
};

// The sizes of an architecture in config.json. A fallback is the default of the architecture's
// config class in transformers.
struct SizeFields {
  FieldNames hidden_size = {"hidden_size"};
  FieldNames layers = {"num_hidden_layers"};  // no name: there are no layers
  FieldNames heads = {"num_attention_heads"};
  FieldNames inner = {"intermediate_size"};
  InnerWidth inner_width = InnerWidth::kStated;

  // The width of a head. No name: the width is hidden_size / heads, which must be a whole number.
  const char* head_dim = nullptr;
  int64_t head_dim_fallback = 0;         // 0: hidden_size / heads; kRequired: no fallback
  bool grouped_queries = false;          // config.json has num_key_value_heads
  int64_t key_value_heads_fallback = 0;  // 0: as many as heads
  // The width of the tables of embeddings. No name: hidden_size.
  const char* embedding_size = nullptr;
  int64_t embedding_size_fallback = 0;
  bool always_projects = false;  // the embeddings are projected, even to their own width
  const char* positions = "max_position_embeddings";
  int64_t positions_fallback = 0;  // 0: config.json states no limit
  bool segments = true;            // config.json has type_vocab_size
  int64_t segments_fallback = 2;

  static constexpr int64_t kRequired = -1;
};

struct Traits {
  Positions positions = {};
  OtherPositions other_positions = {};
  Causality causality = Causality::kNever;
  MlpForm mlp = MlpForm::kPlain;
  SizeFields fields = {};
  ExtraWeights extra_weights = ExtraWeights::kNone;
  bool has_text_config = false;  // the fields of the text model are in text_config
};

// --- The sizes of families

inline constexpr SizeFields kWithoutSegments = {.segments = false};

constexpr SizeFields with_segments(int64_t fallback) {
  SizeFields fields;
  fields.segments_fallback = fallback;
  return fields;
}

constexpr SizeFields with_embedding(const char* name, int64_t fallback, bool always_projects) {
  SizeFields fields;
  fields.embedding_size = name;
  fields.embedding_size_fallback = fallback;
  fields.always_projects = always_projects;
  return fields;
}

constexpr SizeFields gpt2_fields(int64_t positions) {
  return {.hidden_size = {"n_embd"},
          .layers = {"n_layer"},
          .heads = {"n_head"},
          .inner = {"n_inner"},
          .inner_width = InnerWidth::kFourTimesOrStated,
          .positions = "n_positions",
          .positions_fallback = positions,
          .segments = false};
}

// The fields of Llama and of the models that are derived from it. An argument of 0 stands for the
// default of SizeFields.
constexpr SizeFields decoder_fields(int64_t head_dim = 0, int64_t key_value_heads = 0) {
  return {.head_dim = "head_dim",
          .head_dim_fallback = head_dim,
          .grouped_queries = true,
          .key_value_heads_fallback = key_value_heads,
          .segments = false};
}

// The traits of Llama. The arguments are those of decoder_fields().
constexpr Traits decoder_traits(int64_t head_dim = 0, int64_t key_value_heads = 0) {
  return {.positions = kRotaryPositions,
          .causality = Causality::kUnlessStated,
          .mlp = MlpForm::kGated,
          .fields = decoder_fields(head_dim, key_value_heads)};
}

// The traits of T5 with this MLP and these biases.
constexpr Traits t5_traits(MlpForm mlp, ExtraWeights biases) {
  return {.positions = kRelativePositions,
          .mlp = mlp,
          .fields = {.hidden_size = {"d_model"},
                     .layers = {"num_layers"},
                     .heads = {"num_heads"},
                     .inner = {"d_ff"},
                     .head_dim = "d_kv",
                     .head_dim_fallback = SizeFields::kRequired,
                     .segments = false},
          .extra_weights = biases};
}

}  // namespace encode
