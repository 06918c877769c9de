// The input of BERT's first layer: the sum of word, segment and position embeddings (Devlin et al.
// 2019, figure 2), in the variants of its descendants.
#pragma once

#include <optional>

#include "models/config_fields.h"
#include "models/module_loader.h"
#include "nn/layers/packed_input.h"

namespace encode {

// Which parts an architecture has. The tensors have the names of BERT's checkpoints:
// word_embeddings, position_embeddings, token_type_embeddings, LayerNorm.
struct BertEmbeddingsOptions {
  Dim width;                                  // of the tables: hidden_size or embedding_size
  bool positions = true;                      // a learned vector for each position
  std::optional<int64_t> padding_token = {};  // if set, see positions_after_padding()
  bool segments = true;                       // the vector of segment 0 for every token
  bool norm = true;                           // a LayerNorm of the sum
};

// Immutable; any number of threads.
class BertEmbeddings {
 public:
  // `embeddings` is the scope of the tensors. Throws what Weights throws for a tensor that is
  // missing or has another shape.
  BertEmbeddings(const ModuleLoader& embeddings, const EncoderConfig& config,
                 const BertEmbeddingsOptions& options);

  // LayerNorm(words + segment 0 + positions), [T, width], in the compute type.
  at::Tensor operator()(const PackedInput& batch) const;

 private:
  // The same in one kernel; undefined on CPU and if the CUDA plugin has no kernel for it.
  at::Tensor by_kernel(const PackedInput& batch, const at::Tensor& position_ids) const;

  at::Tensor words_;      // [vocab_size, width]
  at::Tensor positions_;  // [max_position_embeddings, width]; undefined if there are none
  at::Tensor segment_;    // [width], of segment 0; undefined if there are none
  std::optional<int64_t> padding_token_;
  std::optional<LayerNorm> norm_;
};

// pad_token_id of RoBERTa and its descendants, behind which their positions are counted; 1
// (RobertaConfig in transformers) if config.json has none.
int64_t padding_token_of(const JsonFields& config);

// Positions by RoBERTa's rule, [T] int64: pad_token_id + 1, pad_token_id + 2, ... for the tokens of
// a text that are not the padding token. A padding token that a text spells out gets pad_token_id
// and is not counted.
at::Tensor positions_after_padding(const PackedInput& batch, int64_t pad_token_id);

}  // namespace encode
