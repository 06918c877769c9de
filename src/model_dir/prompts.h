// config_sentence_transformers.json: the texts that a model wants before its inputs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "model_dir/model_folder.h"

namespace encode {

inline constexpr const char* kPromptsFile = "config_sentence_transformers.json";

struct Prompts {
  std::map<std::string, std::string> texts;
  std::optional<std::string> default_name;  // always a key of `texts`
};

// Empty where there is no such file. Throws Error "model.prompts", and "model.unsupported" for
// models that are not plain embedding models (cross-encoders, sparse ones, truncate_dim).
Prompts read_prompts(const ModelFolder& root);

}  // namespace encode
