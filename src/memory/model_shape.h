// The sizes of a model that decide how much memory it needs, without LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/model_directory.h"

#include "base/json.h"

namespace encode {

// The weight of one matrix product, as it is loaded: the projections to query, key and value are
// one matrix, and so are the two halves of a gated MLP.
struct WeightShape {
  int64_t out_features = 0;
  int64_t in_features = 0;
  int64_t count = 1;  // the number of equal matrices

  int64_t elements() const { return out_features * in_features * count; }
};

// All numbers are as config.json has them, and at least 1 unless a comment says something else.
struct ModelShape {
  std::string model_type;
  int64_t hidden_size = 1;
  int64_t embedding_size = 1;  // the width of the tables of embeddings
  int64_t layers = 0;          // the layers that a token passes; 0 for a StaticEmbedding
  int64_t stored_layers = 0;   // the layers that have weights of their own (ALBERT shares them)
  int64_t heads = 1;
  int64_t key_value_heads = 1;
  int64_t head_dim = 1;
  int64_t intermediate_size = 0;
  int64_t vocab_size = 1;
  int64_t positions = 0;    // the rows of the table of positions; 0: there is no table
  int64_t token_types = 0;  // the rows of the table of segments; 0: there is no table
  bool gated = false;       // MLP(x) = down(act(gate(x)) * up(x))
  bool causal = false;
  bool rotary = false;    // positions rotate queries and keys
  bool relative = false;  // a score depends on the distance of its tokens (T5, MPNet, ALiBi, ..)

  // What the checkpoint really has; 0 if the shape comes from config.json alone.
  int64_t checkpoint_matrix_elements = 0;
  int64_t checkpoint_table_elements = 0;
  int64_t checkpoint_element_bytes = 0;  // of its widest tensor
  bool checkpoint_reordered = false;     // it has tensors that are copied into row-major order

  int64_t query_width() const { return heads * head_dim; }
  int64_t key_value_width() const { return key_value_heads * head_dim; }
  std::vector<WeightShape> matrices() const;
  int64_t matrix_elements() const;  // of the checkpoint if it is known, else of matrices()
  int64_t table_elements() const;
  int64_t largest_table_elements() const { return vocab_size * embedding_size; }
  int64_t vector_elements() const;  // norms and biases, roughly
  // The multiplications and additions for a token of a row with `row_tokens` tokens: the products
  // with weights, and attention's products, of which causal attention needs half.
  double flops_per_token(double row_tokens) const;
};

// Reads the shape from the text of a config.json. `where` names it in messages. Throws Error
// kConfig "model.config" if a field that every architecture needs is missing or has a wrong type.
ModelShape shape_of_config(const std::string& config_json, const std::string& where);

// Reads the shape from config.json, and the number of elements from the tensors of the checkpoint.
// Throws what shape_of_config() throws.
ModelShape shape_of(const ModelDirectory& directory);

}  // namespace encode
