// The sizes of a model, from the entry of its architecture and from config.json. The memory plan
// and the loaders both take them from here, so they cannot disagree. Any thread may call these
// functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "model_dir/architecture_table.h"

namespace encode {

// The weight of one matrix product, as it is loaded: the projections to query, key and value are
// one matrix, and so are the two halves of a gated MLP.
struct WeightShape {
  int64_t out_features = 0;
  int64_t in_features = 0;
  int64_t count = 1;  // the number of equal matrices
  int64_t used = 0;   // how many of them a token passes; 0: all of them

  int64_t elements() const { return out_features * in_features * count; }
};

// The names are those of Hugging Face's config.json, whatever the architecture calls the sizes.
struct ModelSizes {
  Architecture architecture = Architecture::kStatic;
  int64_t hidden_size = 1;
  int64_t vocab_size = 1;
  int64_t embedding_size = 1;        // the width of the tables of embeddings
  bool projects_embeddings = false;  // a product widens embedding_size to hidden_size
  int64_t num_hidden_layers = 0;     // the layers that a token passes; 0 for a StaticEmbedding
  int64_t num_attention_heads = 1;
  int64_t num_key_value_heads = 1;
  int64_t head_dim = 1;
  int64_t intermediate_size = 0;
  int64_t max_position_embeddings = 0;  // 0: config.json does not state it
  int64_t type_vocab_size = 0;          // the rows of the table of segments; 0: there is no table
  Positions positions = {};
  bool gated = false;   // MLP(x) = down(act(gate(x)) * up(x))
  bool causal = false;  // unless the user or a recipe overrides it

  int64_t stored_layers = 0;     // the layers that have weights of their own (ALBERT shares them)
  int64_t attention_layers = 0;  // the stored layers with attention (LFM2 also has convolutions)
  int64_t mlp_layers = 0;        // the stored layers with one MLP and no experts
  std::vector<WeightShape> extra_matrices = {};  // in addition to attention and MLP
  int64_t extra_table_elements = 0;              // in addition to words, positions and segments
  // Loading folds some tensors into others (NV-Embed, DeBERTa). This is the number of elements in
  // the checkpoint minus the number that stays in memory.
  int64_t folded_elements = 0;

  int64_t query_width() const { return num_attention_heads * head_dim; }
  int64_t key_value_width() const { return num_key_value_heads * head_dim; }
  bool rotary() const { return positions.scores == ScorePositions::kRotary; }
  bool relative() const { return positions.scores == ScorePositions::kRelative; }
  // The rows of the table of positions; 0: there is no table.
  int64_t position_rows() const {
    return positions.table == PositionTable::kNone ? 0 : max_position_embeddings;
  }
};

// Reads the sizes from the whole config.json. Throws Error kConfig "model.config" if a size is
// missing, out of the range that limits.h states, or does not fit another one.
ModelSizes model_sizes(const ArchitectureEntry& entry, const JsonFields& config);

// Returns the part of config.json that describes the text model: text_config (NV-Embed), or
// `config`, which must outlive the result. Throws Error "model.config" if there is no text_config.
JsonFields text_config(const Traits& traits, const JsonFields& config);

// These functions read a single fact from the result of text_config(). They throw Error
// "model.config" if the field has a wrong type or is out of range.
Positions positions_of(const Traits& traits, const JsonFields& fields);
int64_t max_positions_of(const Traits& traits, const JsonFields& fields);

}  // namespace encode
