// Reads the weights of a transformer from one or many safetensors files.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "model_dir/model_folder.h"
#include "model_dir/safetensors.h"

namespace encode {

inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kWeightsIndexFile = "model.safetensors.index.json";

// Returns the tensors of model.safetensors. If this file does not exist, returns the tensors of the
// shards that model.safetensors.index.json lists. transformers looks for them in the same order.
// Throws what read_safetensors() throws, and Error:
//   "model.format"    if the weights are in another format
//   "model.missing"   if there are no weights
//   "model.index"     if the index and the shards do not list the same tensors
// All are kConfig, except "model.missing" (kNoInput).
TensorMap read_weights(const ModelFolder& folder);

// Returns the files that model.safetensors.index.json names, which may be any text. Throws Error
// "model.index", and what ModelFolder throws.
std::set<std::string> read_shard_names(const ModelFolder& folder);

// Throws the Error "model.format" or "model.missing" for a folder that has neither of the files
// above. `where` and `names` are the folder and what it has.
[[noreturn]] void refuse_no_weights(const std::string& where,
                                    const std::vector<std::string>& names);

}  // namespace encode
