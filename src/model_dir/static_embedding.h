// The StaticEmbedding module of sentence-transformers (model2vec): a table of token vectors.
#pragma once

#include <cstdint>
#include <optional>

#include "model_dir/model_folder.h"
#include "model_dir/safetensors.h"

namespace encode {

struct StaticEmbedding {
  TensorMap tensors;  // one: embedding.weight or embeddings [vocab_size, hidden_size]
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  // Tokens, as tokenizer.json itself truncates: the module has no limit of its own.
  std::optional<int64_t> max_length;
};

// `folder` holds tokenizer.json and model.safetensors. Throws Error "model.static_embedding" for
// tensors that do not fit, "model.format" for pickled weights, "model.missing", and what
// read_safetensors() throws.
StaticEmbedding read_static_embedding(const ModelFolder& folder);

}  // namespace encode
