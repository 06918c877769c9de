// The sentence-transformers modules that have weights: Dense and LayerNorm.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "encode/model_directory.h"

#include "model_dir/model_folder.h"
#include "model_dir/safetensors.h"

namespace encode {

// Throws Error: "model.dense" for a config.json or weights that are malformed, misshapen or
// missing, "model.format" for pickled weights, "model.unsupported" for a module that works on token
// vectors.
SentenceModule read_dense(const ModelFolder& folder, std::vector<std::string>& warnings);
// The same with "model.layer_norm".
SentenceModule read_layer_norm(const ModelFolder& folder);

// The tensors of a module's model.safetensors. Throws Error "model.format" where the weights are
// pickled, "model.missing". `module` is its class: "Dense".
TensorMap read_module_weights(const ModelFolder& folder, std::string_view module);

// A module that works on anything else than the pooled embedding is of a multi-vector model. Throws
// Error "model.unsupported".
void require_sentence_embedding(const JsonFields& fields, const std::string& where);

}  // namespace encode
