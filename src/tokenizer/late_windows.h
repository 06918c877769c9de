// The windows of a text whose passages are encoded in their context (late chunking).
//
// The row of the whole text, with the prompt, the template and the special tokens, has N tokens.
// Window k has the tokens [k * S, k * S + L) of them, where L is PassageSettings::window_tokens and
// S = L - max_tokens. So each passage is whole in at least one window, and the first one that has
// it gives it its vector. Windows without a passage are left out. The special tokens and the prompt
// stand only where the row has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/batch.h"
#include "encode/text.h"
#include "encode/tokenizer.h"

#include "tokenizer/passages.h"
#include "tokenizer/text_cutter.h"

namespace encode {

// The row of a text, and the part of the text that each token comes from. No function changes the
// object, so any number of threads may call them.
class DocumentTokens final : public TokenCounter {
 public:
  // `settings` must outlive the object. Throws what Tokenizer::encode_with_offsets() throws.
  DocumentTokens(const PassageSettings& settings, const FramedText& text);

  // Returns the number of tokens whose last byte is in [begin, end) of text.text. So the numbers of
  // adjacent parts add up.
  int64_t count_unit(size_t begin, size_t end) override;
  // Does the same, because nothing stands around a passage. `row` becomes empty.
  int64_t count_passage(size_t begin, size_t end, TokenizedRows& row) override;

  // Adds the windows and the spans of cut.passages, which must be passages of the text in the order
  // in which PassageCutter::cut() gives them. The span of a passage has the tokens that
  // count_unit() counts; if there is none, the token that contains the passage; if there is none
  // either, all tokens of the window.
  void add_windows(CutText& cut) const;

 private:
  // The first byte of the text that a token comes from, and the begin of the last code point.
  struct Origin {
    int64_t first = 0;
    int64_t last = 0;
  };
  // Tokens of the row. `all` stands for all tokens of a window that has the token `begin`.
  struct RowSpan {
    int64_t begin = 0;
    int64_t end = 0;
    bool all = false;
  };

  void find_text(std::string_view document, int64_t text_begin, int64_t text_end,
                 const std::vector<TokenOffset>& offsets);
  int64_t first_token_from(int64_t byte) const;
  RowSpan span_of(const Passage& passage) const;

  const PassageSettings& settings_;
  TokenizedRows row_;
  int64_t first_ = 0;  // the first token of the text in the row
  // Of the tokens of the text, and of the token that contains its end; `last` ascends.
  std::vector<Origin> origins_;
};

}  // namespace encode
