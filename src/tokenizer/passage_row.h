// The row of a passage that is encoded alone, while its end moves until it fits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "encode/text.h"
#include "encode/tokenizer.h"

#include "tokenizer/passages.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/text_cutter.h"
#include "tokenizer/text_units.h"

namespace encode {

// Tokenizes passages of one text. It tokenizes only what it must, if it knows places where ids can
// be joined (JoinPlaces): a passage with the begin of the passage before keeps the ids up to their
// last common place, and a sentence whose ids are known is not tokenized again.
class PassageRow final : public TokenCounter {
 public:
  // The arguments must outlive the object.
  PassageRow(const PassageSettings& settings, const FramedText& text, SentenceWindow& sentences);

  // Counts the tokens of the unit alone. A space at its end does not count, because many tokenizers
  // make one token of it and the word after it.
  int64_t count_unit(size_t begin, size_t end) override;
  int64_t count_sentence(Sentence& sentence) override;
  // `row` becomes the row of the passage, cut off at max_tokens.
  int64_t count_passage(size_t begin, size_t end, TokenizedRows& row) override;

 private:
  // Returns whether Sentence::ids are used: the ids of the sentence alone.
  bool uses_sentences() const {
    return joined_ != nullptr && joined_->joins() == JoinPlaces::kAfterSpaces;
  }
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
  TokenizedRows unit_;
  std::string framed_;
};

}  // namespace encode
