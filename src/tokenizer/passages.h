// Cuts a text into passages: parts of at most so many tokens that end where a sentence or a
// paragraph ends, if possible. docs/howto/passages.md has the rule for users.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error_code.h"
#include "encode/text.h"
#include "encode/tokenizer.h"

#include "base/names.h"

namespace encode {

// The code of the Error for a row whose passages have no room; see PassageCutter::cut().
inline constexpr ErrorCode kNoPassageRoom = "passages.no_room";

// A part of the text that is cut, [begin, end).
struct Passage {
  int64_t byte_begin = 0, byte_end = 0;  // bytes of UTF-8
  int64_t char_begin = 0, char_end = 0;  // code points
  bool operator==(const Passage&) const = default;
};

// The literal text before and after InputOptions::passage_field.
struct FrameText {
  std::string before = {};
  std::string after = {};
};

// Returns the literal text of the template of an input; empty texts if no field of it is cut.
// Throws what TextTemplate throws.
FrameText literal_frame(const InputOptions& input);

// What a cutter needs to know about the passages of a stream.
struct PassageSettings {
  const Tokenizer& tokenizer;
  PassageRule rule;
  std::string prompt;  // is put before every passage
  // What the rows have around every passage, whatever the values of their fields are; see
  // literal_frame().
  FrameText frame = {};
  bool add_special_tokens = true;
};

// Any number of threads may use a cutter at once.
class PassageCutter {
 public:
  // `where` names the tokenizer in errors. Throws what Tokenizer::encode() throws, and Error
  // kConfig "model.max_length" if max_tokens has no room for a token of text beside the prompt, the
  // frame, the special tokens and the overlap.
  PassageCutter(PassageSettings settings, const std::string& where);

  // Appends the passages of text.text, and for each one the row that Tokenizer::encode() gives for
  // the prompt and the passage between text.before and text.after, truncated at max_tokens. Only a
  // passage of one grapheme cluster can have lost_tokens. The first passage begins where the text
  // begins, and the last one ends where it ends. Each passage begins after the begin of the one
  // before it and at most at its end, and ends after its end. A text without a character is one
  // passage. All texts must be valid UTF-8. If it throws, what it has appended is not specified.
  // Throws what Tokenizer::encode() throws, and Error kData "passages.no_room" if what stands
  // around a passage leaves no room for a token of text beside the overlap.
  void cut(const FramedText& text, std::vector<Passage>& passages, TokenizedRows& rows) const;

  const PassageRule& rule() const { return settings_.rule; }

 private:
  PassageSettings settings_;
  int64_t room_;  // the tokens of a passage without the prompt and the special tokens
};

}  // namespace encode
