// Loads the "added_tokens" of a tokenizer.json.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/normalize/normalizer.h"

namespace encode {

struct AddedTokens {
  std::vector<AddedToken> list;
  AddedTokenFinder raw;         // searches a text before normalization
  AddedTokenFinder normalized;  // searches a text after normalization
};

// `json` and `normalizer` may be null. `where` names the file for messages. Throws Error (kConfig)
// with the code "tokenizer.format" or "tokenizer.unsupported".
AddedTokens load_added_tokens(const Json* json, const Normalizer* normalizer,
                              const Vocabulary& vocabulary, const std::string& where);

}  // namespace encode
