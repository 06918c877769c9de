// One or many safetensors files, and the refusal of everything that is not safetensors.
#pragma once

#include "model_dir/model_folder.h"
#include "model_dir/safetensors.h"

namespace encode {

// The tensors of model.safetensors, else of the shards that model.safetensors.index.json lists, in
// the order in which transformers looks for them. Throws Error: "model.format" where there are only
// weights in another format, "model.missing", "model.index" where index and shards do not agree
// tensor for tensor, and read_safetensors()'s.
TensorMap read_weights(const ModelFolder& folder);

}  // namespace encode
