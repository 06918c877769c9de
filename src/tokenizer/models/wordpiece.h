// The model WordPiece (BERT): cuts off the longest token that the rest of a word begins with, until
// nothing is left. If no token fits, the whole word becomes the unknown token.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/models/token_model.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

struct WordPieceOptions {
  int32_t unk_id = 0;
  std::string continuing_subword_prefix = "##";
  int64_t max_input_chars_per_word = 100;
};

// The model keeps no reference to `vocabulary`. Does not throw Error.
std::unique_ptr<TokenizerModel> make_wordpiece(const Vocabulary& vocabulary,
                                               const WordPieceOptions& options);

}  // namespace encode
