// The models that find the tokens of a piece in a vocabulary, without merges. They keep no
// reference to `vocabulary`. Making one does not throw Error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/models/token_model.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

// WordLevel: each piece that is in the vocabulary is a token, and each other piece becomes the
// unknown token, whose id is `unk_id`.
std::unique_ptr<TokenizerModel> make_word_level(Vocabulary vocabulary, int32_t unk_id);

struct WordPieceOptions {
  int32_t unk_id = 0;
  std::string continuing_subword_prefix = "##";
  int64_t max_input_chars_per_word = 100;
};

// WordPiece (BERT): cuts off the longest token that the rest of a word begins with, until nothing
// is left. If no token fits, the whole word becomes the unknown token.
std::unique_ptr<TokenizerModel> make_wordpiece(const Vocabulary& vocabulary,
                                               const WordPieceOptions& options);

struct UnigramOptions {
  int32_t unk_id = 0;
  // Unknown characters become <0xNN> tokens if the vocabulary has a token for each of their bytes.
  bool byte_fallback = false;
};

// Unigram: a piece is cut into the tokens with the highest sum of scores (Viterbi's algorithm).
// `scores` has the log probability of each id, and is not empty. The ids of `vocabulary` are 0, 1,
// 2 and so on.
std::unique_ptr<TokenizerModel> make_unigram(const Vocabulary& vocabulary,
                                             std::vector<double> scores,
                                             const UnigramOptions& options);

}  // namespace encode
