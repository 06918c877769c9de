// Reads the modules of sentence-transformers that have weights: Dense and LayerNorm.
#pragma once

#include <string>
#include <vector>

#include "encode/model_directory.h"

#include "model_dir/model_folder.h"

namespace encode {

// Throws Error:
//   "model.dense"         if config.json is malformed, or the weights do not fit it
//   "model.unsupported"   if the module works on token vectors
// All are kConfig. Also throws what read_module_weights() throws. Appends a sentence to `warnings`
// if config.json has keys that encode does not know.
SentenceModule read_dense(const ModelFolder& folder, std::vector<std::string>& warnings);
// Does the same for a Dense that works on the vectors of tokens. If config.json states no
// activation, the Dense of PyLate (`pylate` is true) has none, and the Dense of
// sentence-transformers has Tanh.
SentenceModule read_token_dense(const ModelFolder& folder, bool pylate,
                                std::vector<std::string>& warnings);
// Throws the errors of read_dense(), with "model.layer_norm" instead of "model.dense".
SentenceModule read_layer_norm(const ModelFolder& folder);

// Throws Error "model.unsupported" if the input or the output of a module is not the pooled
// embedding, as in multi-vector models.
void require_sentence_embedding(const JsonFields& fields, const std::string& where);

}  // namespace encode
