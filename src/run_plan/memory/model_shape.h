// The weights of a model, which decide how much memory it needs, without LibTorch. Any thread may
// call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/model_directory.h"

#include "model_dir/model_sizes.h"

namespace encode {

struct ModelShape : ModelSizes {
  std::string model_type;

  // These two describe the checkpoint; they are 0 and false if the shape comes from config.json
  // alone.
  int64_t checkpoint_element_bytes = 0;  // the element size of its widest tensor
  bool checkpoint_reordered = false;     // it has tensors that are copied into row-major order

  // A matrix is a weight of a matrix product, and a table is an embedding. The counts are numbers.
  std::vector<WeightShape> matrices() const;
  int64_t matrix_elements() const;
  int64_t largest_matrix_elements() const;
  int64_t table_elements() const;
  int64_t largest_table_elements() const { return vocab_size * embedding_size; }
  int64_t vector_elements() const;  // norms and biases, roughly
  // Returns the multiplications and additions for each token of a row with `row_tokens` tokens: the
  // products with weights and the products of attention. Causal attention counts half.
  double flops_per_token(double row_tokens) const;
};

// Reads the shape from the text of a config.json. `where` names it in messages. Throws Error
// kConfig "model.type" for an architecture without an entry, and what model_sizes() throws.
ModelShape shape_of_config(const std::string& config_json, const std::string& where);

// Does the same for a directory, and looks at the tensors of the checkpoint. Throws what
// shape_of_config() throws.
ModelShape shape_of(const ModelDirectory& directory);

}  // namespace encode
