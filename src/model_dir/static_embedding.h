// Reads the StaticEmbedding module of sentence-transformers (model2vec), a table of token vectors.
#pragma once

#include <cstdint>
#include <optional>

#include "model_dir/model_folder.h"
#include "model_dir/tensor_types.h"

namespace encode {

struct StaticEmbedding {
  TensorMap tensors;  // one tensor: embedding.weight or embeddings, [vocab_size, hidden_size]
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  // The length in tokens to which tokenizer.json truncates. The module has no other limit.
  std::optional<int64_t> max_length;
};

// `folder` has tokenizer.json and weights. Throws Error "model.static_embedding" if the
// tensors are not those of this module, and what read_module_weights() and ModelFolder throw.
StaticEmbedding read_static_embedding(const ModelFolder& folder);

}  // namespace encode
