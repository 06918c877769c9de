// Cuts a text into passages: parts of at most so many tokens that end where a sentence or a
// paragraph ends, if possible. docs/howto/passages.md has the rule for users.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/batch.h"
#include "encode/error_code.h"
#include "encode/text.h"
#include "encode/tokenizer.h"

#include "base/names.h"

namespace encode {

// The code of the Error for a row whose passages have no room; see PassageCutter::cut().
inline constexpr ErrorCode kNoPassageRoom = "passages.no_room";
// Returns whether a run sets a row aside if PassageCutter::cut() throws an Error of this code.
inline bool refuses_row(ErrorCode code) {
  return code == kNoPassageRoom || code == "tokenizer.too_long" || code == "tokenizer.offsets";
}

// A part of the text that is cut, [begin, end).
struct Passage {
  int64_t byte_begin = 0, byte_end = 0;  // bytes of UTF-8
  int64_t char_begin = 0, char_end = 0;  // code points
  bool operator==(const Passage&) const = default;
};

// The passages of a text, and the token sequences that a model encodes for them.
// - PassageVectors::kAlone: sequence i is the row of passage i.
// - PassageVectors::kLate: the sequences are windows of the whole text, and each passage is a
//   span of one of them.
struct CutText {
  std::vector<Passage> passages = {};
  std::vector<int32_t> lost_tokens = {};  // [passages], the tokens that max_tokens has cut off
  TokenizedRows sequences = {};
  // Only with kLate:
  // [sequences + 1]; sequence i has the passages from first_passages[i] on, at least one.
  std::vector<int64_t> first_passages = {};
  std::vector<TokenSpan> spans = {};  // [passages], each in the sequence of its passage

  // Returns the tokens that the vector of a passage is made from.
  int64_t tokens(int64_t passage) const;
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
  std::string prompt;  // is put before every passage, or before the text with kLate
  // What the rows have around every passage, whatever the values of their fields are; see
  // literal_frame().
  FrameText frame = {};
  bool add_special_tokens = true;
  // With PassageVectors::kLate, the tokens of a window: at least twice rule.max_tokens.
  int64_t window_tokens = 0;
};

// Any number of threads may use a cutter at once.
class PassageCutter {
 public:
  // `where` names the tokenizer in errors. Throws what Tokenizer::encode() throws, and Error
  // kConfig "model.max_length" if max_tokens has no room for a token of text beside the prompt, the
  // frame, the special tokens and the overlap, or with kLate beside the overlap.
  PassageCutter(PassageSettings settings, const std::string& where);

  // Cuts text.text. Only a passage of one grapheme cluster can have lost_tokens. The first passage
  // begins where the text begins, and the last one ends where it ends. Each passage begins after
  // the begin of the one before it and at most at its end, and ends after its end. A text without a
  // character is one passage. All texts must be valid UTF-8.
  // - With PassageVectors::kAlone a sequence is the row that Tokenizer::encode() gives for the
  //   prompt and the passage between text.before and text.after, truncated at max_tokens.
  // - With kLate the sequences are windows of the row that Tokenizer::encode() gives for the prompt
  //   and text.text between text.before and text.after. late_windows.h has the rule.
  // Throws what Tokenizer::encode() and, with kLate, encode_with_offsets() throw, and with kAlone
  // Error kData "passages.no_room" if what stands around a passage leaves no room for a token of
  // text beside the overlap.
  CutText cut(const FramedText& text) const;

  const PassageRule& rule() const { return settings_.rule; }

 private:
  PassageSettings settings_;
  int64_t room_;  // the tokens of a passage without what stands around it
};

}  // namespace encode
