// Loads the "added_tokens" of a tokenizer.json.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/normalize/normalizer.h"

namespace encode {

// Reads "added_tokens", which may be null, in its order. Throws Error (kConfig) with the code
// "tokenizer.format" or "tokenizer.unsupported".
std::vector<AddedToken> read_added_tokens(const Json* json, const std::string& where);

struct AddedTokens {
  std::vector<AddedToken> list;
  AddedTokenFinder raw;         // searches a text before normalization
  AddedTokenFinder normalized;  // searches a text after normalization
};

// `tokens` is the result of read_added_tokens(), and `normalizer` may be null. `where` names the
// file for messages. Throws what read_added_tokens() throws.
AddedTokens load_added_tokens(std::vector<AddedToken> tokens, const Normalizer* normalizer,
                              const Vocabulary& vocabulary, const std::string& where);

}  // namespace encode
