// Reads config_sentence_transformers.json: prompts and other settings of the embeddings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encode/late_interaction.h"

#include "model_dir/model_folder.h"
#include "model_dir/sentence_modules.h"

namespace encode {

inline constexpr const char* kSettingsFile = "config_sentence_transformers.json";

struct SentenceSettings {
  std::map<std::string, std::string> prompts;
  std::optional<std::string> default_prompt_name;  // always a key of `prompts`
  std::string similarity = "cosine";               // cosine, dot, euclidean or manhattan
  std::optional<int64_t> truncate_dim;
  std::optional<LateInteraction> late_interaction;
  int64_t document_length =
      0;  // for late_interaction: in tokens, including the marker; 0: not stated in this file
  std::vector<std::string> warnings;
};

// Returns the defaults if the file does not exist. Throws Error "model.prompts" if the file is
// malformed, and "model.unsupported" for other kinds of models, such as cross-encoders and sparse
// encoders. Both are kConfig. Also throws what ModelFolder throws. For a PyLate model, the settings
// of PyLate are read too; settings that are not stated have PyLate's defaults. The default prompt
// of a MultiVectorEncoder is the prompt of encode_document().
SentenceSettings read_sentence_settings(const ModelFolder& root, SentenceModelKind kind);

}  // namespace encode
