// The sentence-transformers side of a model directory: modules.json and what it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encode/model_directory.h"

#include "model_dir/model_folder.h"

namespace encode {

// modules.json, checked: a Transformer, then one Pooling, or a StaticEmbedding; then any Dense,
// LayerNorm and Normalize modules, in any order.
struct ModuleList {
  std::string input_folder;  // of the first module: "" or a name, "0_Transformer"
  bool is_static = false;    // the first module is a StaticEmbedding
  // Without the first module; the mean of a StaticEmbedding is a kPooling, its width still to be
  // filled in.
  std::vector<SentenceModule> modules;
  std::vector<std::string> warnings;
};

// No modules.json -> nullopt. Widths are checked by output_dim(). Throws Error: "model.modules",
// "model.pooling", "model.dense", "model.layer_norm", "model.unsupported", "model.missing".
std::optional<ModuleList> read_modules(const ModelFolder& root);

// Width of an embedding after `modules`, whose first is the Pooling. Throws Error "model.dim" where
// a module does not fit what comes before it.
int64_t output_dim(const std::vector<SentenceModule>& modules, int64_t hidden_size,
                   const std::string& where);

}  // namespace encode
