// The row of a passage whose end moves until it fits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "encode/text.h"
#include "encode/tokenizer.h"

#include "tokenizer/passages.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/text_units.h"

namespace encode {

// Tokenizes passages of one text. It tokenizes only what it must, if it knows places where ids can
// be joined (JoinPlaces): a passage with the begin of the passage before keeps the ids up to their
// last common place, and a sentence whose ids are known is not tokenized again. Not thread-safe.
// The functions throw what Tokenizer::encode() throws.
class PassageRow {
 public:
  // The arguments must outlive the object.
  PassageRow(const PassageSettings& settings, const FramedText& text, SentenceWindow& sentences);

  // Fills `row` with the row of the passage [begin, end) of the text. Both must be ends of grapheme
  // clusters, and no sentence after `begin` may have been dropped. Returns the number of the tokens
  // before the truncation.
  int64_t tokenize(size_t begin, size_t end, TokenizedRows& row);

  // Returns whether Sentence::ids are used: the ids of the sentence alone.
  bool uses_sentences() const {
    return joined_ != nullptr && joined_->joins() == JoinPlaces::kAfterSpaces;
  }

 private:
  size_t last_join(size_t begin, size_t end) const;
  bool is_after_space(size_t at) const;
  void set_ids(size_t begin, size_t end);
  void append_part(std::string_view before, size_t begin, size_t end, TokenizedRows& ids);
  void append_text(std::string_view text, TokenizedRows& ids) const;
  std::string_view framed(std::string_view before, size_t begin, size_t end,
                          std::string_view after);

  const PassageSettings& settings_;
  const JoinableTokenizer* joined_;  // null: no place is known
  SentenceWindow& sentences_;
  std::string before_;  // the prompt, and what the row has before every passage
  std::string_view text_;
  std::string_view after_;
  // The passage that `ids_` is for, at first an empty one.
  size_t begin_ = 0;
  size_t end_ = 0;
  TokenizedRows ids_;  // its ids without special tokens, of one part after the other
  TokenizedRows tail_;
  std::string framed_;
};

}  // namespace encode
