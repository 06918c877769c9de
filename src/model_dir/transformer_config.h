// What every transformer's files have in common: config.json, sentence_bert_config.json,
// tokenizer_config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model_dir/model_folder.h"

namespace encode {

struct TransformerConfig {
  std::string text;  // of config.json
  std::string model_type;
  int64_t hidden_size = 0;
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;  // 0: not stated
  int64_t position_limit = 0;           // see ModelDirectory
  bool causal_lm = false;               // saved as ...ForCausalLM and not turned bidirectional
};

// Throws Error "model.config" (kConfig), "model.missing" (kNoInput).
TransformerConfig read_transformer_config(const ModelFolder& folder);

// sentence_bert_config.json's max_seq_length. Settings that would change the result in a way that
// is not implemented (multi-vector lengths, other tasks or modalities) are an Error
// "model.unsupported", by name.
std::optional<int64_t> read_sentence_bert_config(const ModelFolder& folder);

// tokenizer_config.json's model_max_length; the 1e30 that stands for "none" gives no value.
std::optional<int64_t> read_model_max_length(const ModelFolder& folder);

}  // namespace encode
