// Unigram: a piece is cut into the tokens with the highest sum of scores (Viterbi's algorithm).
#pragma once

#include <memory>
#include <vector>

#include "tokenizer/models/token_model.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

struct UnigramOptions {
  int32_t unk_id = 0;
  // Unknown characters become <0xNN> tokens if the vocabulary has a token for each of their bytes.
  bool byte_fallback = false;
};

// `scores` has the log probability of each id, and is not empty. The ids of `vocabulary` are 0, 1,
// 2 and so on. The model keeps no reference to `vocabulary`. Does not throw Error.
std::unique_ptr<TokenizerModel> make_unigram(const Vocabulary& vocabulary,
                                             std::vector<double> scores,
                                             const UnigramOptions& options);

}  // namespace encode
