// Cuts a text into passages: parts of at most so many tokens that end where a sentence or a
// paragraph ends, if possible. docs/howto/passages.md has the rule for users.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/tokenizer.h"

#include "base/names.h"

namespace encode {

// A part of the text of a row, [begin, end).
struct Passage {
  int64_t byte_begin = 0, byte_end = 0;  // bytes of UTF-8
  int64_t char_begin = 0, char_end = 0;  // code points
  bool operator==(const Passage&) const = default;
};

// What a cutter needs to know about the passages of a stream.
struct PassageSettings {
  const Tokenizer& tokenizer;
  PassageRule rule;
  std::string prompt;  // is put before every passage
  bool add_special_tokens = true;
};

// Any number of threads may use a cutter at once.
class PassageCutter {
 public:
  // `where` names the tokenizer in errors. Throws what Tokenizer::encode() throws, and Error
  // kConfig "model.max_length" if max_tokens has no room for a token of text beside the prompt, the
  // special tokens and the overlap.
  PassageCutter(PassageSettings settings, const std::string& where);

  // Appends the passages of a text, and for each one the row that Tokenizer::encode() gives for
  // the prompt and the text of the passage, truncated at max_tokens. Only a passage of one grapheme
  // cluster can have lost_tokens. The first passage begins where the text begins, and the last one
  // ends where it ends. Each passage begins after the begin of the one before it and at most at its
  // end, and ends after its end. A text without a character is one passage. `utf8` must be valid
  // UTF-8. If it throws, what it has appended is not specified. Throws what Tokenizer::encode()
  // throws.
  void cut(std::string_view utf8, std::vector<Passage>& passages, TokenizedRows& rows) const;

  const PassageRule& rule() const { return settings_.rule; }

 private:
  PassageSettings settings_;
  int64_t room_ = 0;  // the tokens of a passage without the prompt and the special tokens
};

}  // namespace encode
