// Reads the weights of a transformer from one or many safetensors files.
#pragma once

#include "model_dir/model_folder.h"
#include "model_dir/safetensors.h"

namespace encode {

// Returns the tensors of model.safetensors. If this file does not exist, returns the tensors of the
// shards that model.safetensors.index.json lists. transformers looks for them in the same order.
// Throws what read_safetensors() throws, and Error:
//   "model.format"    if the weights are in another format
//   "model.missing"   if there are no weights
//   "model.index"     if the index and the shards do not list the same tensors
// All are kConfig, except "model.missing" (kNoInput).
TensorMap read_weights(const ModelFolder& folder);

}  // namespace encode
