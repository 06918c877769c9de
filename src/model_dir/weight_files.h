// Reads the weights of a transformer or of a module, from safetensors or pickled files.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "model_dir/model_folder.h"
#include "model_dir/tensor_types.h"

namespace encode {

inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kPickledWeightsFile = "pytorch_model.bin";

// The names of the files of one format in a model directory.
struct WeightFormat {
  const char* file;   // the file with all tensors
  const char* index;  // the list of the shards that have the tensors
  bool pickled = false;
};

// The formats in the order in which transformers looks for them. So safetensors wins if a directory
// has both.
inline constexpr std::array<WeightFormat, 2> kWeightFormats = {
    {{kWeightsFile, "model.safetensors.index.json"},
     {kPickledWeightsFile, "pytorch_model.bin.index.json", true}}};

// Returns the tensors of the first file or index of kWeightFormats that exists. A shard that has
// only tensors of a language model head is not opened, and need not exist. Throws what
// read_safetensors() and read_torch_weights() throw, and Error:
//   "model.format"    if the weights are in another format
//   "model.missing"   if there are no weights
//   "model.index"     if the index and the shards do not list the same tensors
// All are kConfig, except "model.missing" (kNoInput).
TensorMap read_weights(const ModelFolder& folder);

// Returns the tensors of a module's own weights, which have no shards. Throws what read_weights()
// throws.
TensorMap read_module_weights(const ModelFolder& folder);

// Returns the name of the module's weights: the first file of kWeightFormats that exists, or the
// first of all if none exists.
std::string module_weights_file(const ModelFolder& folder);

// Returns the files that an index of kWeightFormats names and that read_weights() reads. The names
// are not checked and may be any text. Throws Error "model.index", and what ModelFolder throws.
std::set<std::string> read_shard_names(const ModelFolder& folder, const WeightFormat& format);

// Throws the Error "model.format" or "model.missing" for a folder that has none of the files above.
// `where` and `names` are the folder and what it has.
[[noreturn]] void refuse_no_weights(const std::string& where,
                                    const std::vector<std::string>& names);

}  // namespace encode
