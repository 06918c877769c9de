// Reads the fields of tokenizer_config.json that change the token ids of a sentencepiece model.
#pragma once

#include <optional>
#include <string>

#include "tokenizer/pipeline.h"

namespace encode {

struct TokenizerConfig {
  // "truncation_side". It overrides the "direction" of tokenizer.json, as in transformers.
  std::optional<TruncationSide> truncation_side;
  // "add_bos_token" and "add_eos_token".
  bool add_bos = false;
  bool add_eos = false;
};

// Reads the content of a tokenizer_config.json. `where` is its name for messages. Throws Error
// kConfig "tokenizer.format" if it is malformed or a field has a value that transformers does not
// accept.
TokenizerConfig read_tokenizer_config(const std::string& text, const std::string& where);

}  // namespace encode
