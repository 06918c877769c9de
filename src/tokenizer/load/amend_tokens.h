// The special and added tokens that the files and the class of a tokenizer add to a document.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tokenizer/load/class_rules.h"
#include "tokenizer/load/special_token_files.h"
#include "tokenizer/load/tokenizer_document.h"

namespace encode {

// The facts that decide the tokens.
struct TokenRules {
  const StatedTokens& stated;
  const ClassRules& rules;
  int64_t extra_ids;  // the number of T5's tokens, for a class that has them
};

// Adds the tokens to `document`. `own` is the result of read_added_tokens() for it. Returns the
// named special tokens of the tokenizer, by key. Throws Error kConfig: "tokenizer.contradiction" if
// an added token gets another id than the one that is stated for it, "tokenizer.format" if
// transformers refuses the tokens.
std::map<std::string, std::string> amend_tokens(const TokenRules& rules,
                                                const std::vector<AddedToken>& own,
                                                TokenizerDocument& document);

}  // namespace encode
