// Reads the settings that every transformer has: config.json, sentence_bert_config.json and
// tokenizer_config.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/model_files.h"
#include "model_dir/model_folder.h"

namespace encode {

inline constexpr const char* kAdapterFile = "adapter_config.json";  // of a PEFT adapter
// sentence-transformers writes the first name. It also reads the other names, which its first
// releases wrote, in this order.
inline constexpr std::array<const char*, 7> kSentenceConfigFiles = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

struct TransformerConfig {
  std::string text;  // the whole config.json, to which a missing model_type was added
  std::string model_type;
  std::vector<std::string> warnings;  // one sentence each, for the user
  int64_t hidden_size = 0;
  int64_t vocab_size = 0;
  int64_t max_position_embeddings = 0;  // 0: config.json does not state it
  int64_t position_limit = 0;           // see ModelDirectory
  bool causal_lm = false;               // the class is ...ForCausalLM, and is_causal is not false
  bool stanford_colbert = false;        // the class is HF_ColBERT
};

// Without model_type, the classes in `architectures` decide about it, if encode knows them. Throws
// Error: "model.config", "model.missing", and "model.unsupported" for a PEFT adapter. All are
// kConfig, except "model.missing" (kNoInput). Also throws what ModelFolder throws.
TransformerConfig read_transformer_config(const ModelFolder& folder);

// The settings of sentence_bert_config.json.
struct SentenceBertConfig {
  std::optional<int64_t> max_seq_length;
  std::optional<int64_t> document_length;  // only of a multi-vector model
  bool do_lower_case = false;
};

// Throws Error "model.unsupported" that names the setting, if a setting would change the result and
// encode does not implement it. Such settings are other tasks, other modalities and, unless
// `multi_vector` is true, the lengths of multi-vector models. Returns the defaults if there is no
// such file. Throws Error "model.sentence_bert_config" if the file is malformed, and what
// ModelFolder throws.
SentenceBertConfig read_sentence_bert_config(const ModelFolder& folder, bool multi_vector);

// Returns model_max_length of tokenizer_config.json. Returns nullopt for 1e30, which stands for "no
// limit". Also returns nullopt if there is no such file or field, or the number is above
// kMaxPositions. Throws Error "model.tokenizer_config" if the file is malformed, and what
// ModelFolder throws.
std::optional<int64_t> read_model_max_length(const ModelFolder& folder);

// Returns "unk_token" of tokenizer_config.json, or "" if the file does not state it. Throws what
// read_model_max_length() throws.
std::string read_unknown_token(const ModelFolder& folder);

}  // namespace encode
