// The sentence-transformers side of a model directory: modules.json and what it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encode/model_directory.h"

#include "model_dir/model_folder.h"

namespace encode {

// modules.json, checked: a Transformer, then one Pooling, then any Dense and Normalize modules.
struct ModuleList {
  std::string transformer_folder;       // "" or a name: "0_Transformer"
  std::vector<SentenceModule> modules;  // without the Transformer
  std::vector<std::string> warnings;
};

// No modules.json -> nullopt. `hidden_size` is checked against the Pooling module's by
// output_dim(). Throws Error: "model.modules", "model.pooling", "model.dense", "model.unsupported",
// "model.missing".
std::optional<ModuleList> read_modules(const ModelFolder& root);

// Width of an embedding after `modules`, whose first is the Pooling. Throws Error "model.dim" where
// a Dense module does not fit what comes before it.
int64_t output_dim(const std::vector<SentenceModule>& modules, int64_t hidden_size,
                   const std::string& where);

}  // namespace encode
