// The special tokens of a slow class, and how they are added to a document.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/load/added_vocabulary.h"
#include "tokenizer/load/slow_class_options.h"
#include "tokenizer/load/slow_class_rules.h"
#include "tokenizer/load/special_token_files.h"

namespace encode {

struct SlowClassTokens {
  std::vector<StatedToken> special;          // in the order of transformers, each content once
  std::map<std::string, std::string> named;  // the contents by key: "cls_token"
  std::map<int32_t, AddedToken> by_id;       // the added tokens that the files state

  // Returns null if the tokenizer has no such token.
  const std::string* find(const std::string& key) const;
};

// Throws Error (kConfig) "tokenizer.format" if the numbers of T5's extra tokens contradict each
// other.
SlowClassTokens slow_class_tokens(const SlowClassRules& rules, const SlowClassOptions& options,
                                  const StatedTokens& stated);

// Adds the tokens in the order of PreTrainedTokenizerFast.__init__() of transformers 4.57.6.
// `where` names the files for messages. Throws Error (kConfig) "tokenizer.contradiction" if a token
// gets another id than a file states.
void add_slow_class_tokens(const SlowClassTokens& tokens, const std::string& where,
                           AddedVocabulary& vocabulary);

}  // namespace encode
