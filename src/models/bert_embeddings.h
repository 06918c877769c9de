// What BERT and its descendants make of token ids before the first layer.
#pragma once

#include <optional>

#include "models/config_fields.h"
#include "models/module_loader.h"
#include "nn/layers/packed_input.h"

namespace encode {

// Which of the parts an architecture has. Tensors are named as in BERT's checkpoints:
// word_embeddings, position_embeddings, token_type_embeddings, LayerNorm.
struct BertEmbeddingsOptions {
  Dim width;                                  // of the tables: hidden_size, or embedding_size
  bool positions = true;                      // learned absolute positions
  std::optional<int64_t> padding_token = {};  // positions are counted from behind it (RoBERTa)
  bool segments = true;                       // every token is of segment 0
  bool norm = true;
};

class BertEmbeddings {
 public:
  BertEmbeddings(const ModuleLoader& embeddings, const EncoderConfig& config,
                 const BertEmbeddingsOptions& options);

  // LayerNorm(words + segment 0 + positions), [T, width].
  at::Tensor operator()(const PackedInput& batch) const;

 private:
  // On a CUDA device in one kernel; undefined where the plugin has none for it.
  at::Tensor by_kernel(const PackedInput& batch, const at::Tensor& position_ids) const;

  at::Tensor words_;
  at::Tensor positions_;                  // undefined: none
  at::Tensor segment_;                    // undefined: none
  std::optional<int64_t> padding_token_;  // positions start behind it
  std::optional<LayerNorm> norm_;
};

// The padding token of RoBERTa and its descendants, from which their positions are counted.
int64_t padding_token_of(const JsonFields& config);

// RoBERTa's rule: pad_token_id + 1, + 2, ... over the tokens that are not padding; a padding token
// within a text (its literal spelling) gets pad_token_id and does not count. [T] int64.
at::Tensor positions_after_padding(const PackedInput& batch, int64_t pad_token_id);

}  // namespace encode
