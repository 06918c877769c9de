// config_sentence_transformers.json: prompts, and what the model says of its embeddings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model_dir/model_folder.h"

namespace encode {

inline constexpr const char* kSettingsFile = "config_sentence_transformers.json";

struct SentenceSettings {
  std::map<std::string, std::string> prompts;
  std::optional<std::string> default_prompt_name;  // always a key of `prompts`
  std::string similarity = "cosine";               // cosine, dot, euclidean or manhattan
  std::optional<int64_t> truncate_dim;
  std::vector<std::string> warnings;
};

// The defaults where there is no such file. Throws Error "model.prompts" for a malformed file, and
// "model.unsupported" for models that are not plain embedding models (cross-encoders, sparse ones).
SentenceSettings read_sentence_settings(const ModelFolder& root);

}  // namespace encode
