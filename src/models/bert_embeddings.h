// The sum of word, segment and position embeddings, which is the input of BERT's first layer
// (Devlin et al. 2019, figure 2), and the variants of this sum in other models.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "models/config_fields.h"
#include "models/module_loader.h"
#include "nn/layers/packed_input.h"

namespace encode {

// The choices that ModelSizes does not state. ModelSizes states whether there are positions and
// segments. The tensors have the names of BERT's checkpoints: word_embeddings, position_embeddings,
// token_type_embeddings, LayerNorm.
struct BertEmbeddingsOptions {
  Dim width;                                  // width of all tables: hidden_size or embedding_size
  std::optional<int64_t> padding_token = {};  // if set, the positions are positions_after_padding()
  int64_t task_types = 0;  // rows of the table of tasks; if above 0, the vector of task 0 is added
  bool norm = true;        // normalize the sum with a LayerNorm
};

// The table of segments (token types). Immutable. Any number of threads may call it.
class Segments {
 public:
  Segments() = default;  // there are no segments
  // `table` is [type_vocab_size, width]. `origin` is the folder of the model, for error messages.
  Segments(at::Tensor table, std::string origin)
      : table_(std::move(table)), origin_(std::move(origin)) {}

  bool defined() const { return table_.defined(); }
  // Returns the vectors to add: [width] if all tokens have type 0, otherwise [T, width]. Throws
  // Error "model.config" (kConfig) if a token has a type that the table does not have.
  at::Tensor of(const PackedInput& batch) const;

 private:
  at::Tensor table_;
  std::string origin_;
};

// The sum of the embeddings. Immutable. Any number of threads may call it.
class BertEmbeddings {
 public:
  // `embeddings` is the scope of the tensors. Throws what ModuleLoader throws.
  BertEmbeddings(const ModuleLoader& embeddings, const EncoderConfig& config,
                 const BertEmbeddingsOptions& options);

  // Returns LayerNorm(words + segments + positions), [T, width], in the compute type. Throws what
  // Segments::of() throws.
  at::Tensor operator()(const PackedInput& batch) const;

 private:
  // Does what operator() does, with one kernel of the CUDA plugin. Returns an undefined tensor on
  // CPU, if the batch has type_ids (the kernel adds the same segment to every token), and if the
  // plugin has no kernel for the types and sizes.
  at::Tensor by_kernel(const PackedInput& batch, const at::Tensor& position_ids) const;

  at::Tensor words_;      // [vocab_size, width]
  at::Tensor positions_;  // [max_position_embeddings, width]; undefined if there are no positions
  Segments segments_;
  std::optional<int64_t> padding_token_;
  std::optional<LayerNorm> norm_;
};

// Returns pad_token_id, from which the positions of RoBERTa and its descendants count. The default
// is 1, as in RobertaConfig in transformers. Throws Error "model.config" (kConfig) if it is not a
// valid token id.
int64_t padding_token_of(const JsonFields& config);

// Returns the positions of RoBERTa, [T] int64. The tokens of a text get pad_token_id + 1,
// pad_token_id + 2, and so on. A padding token that is part of a text gets pad_token_id, and the
// count goes on after it.
at::Tensor positions_after_padding(const PackedInput& batch, int64_t pad_token_id);

}  // namespace encode
