// Unigram: a piece is cut into the tokens whose sum of scores is the highest (Viterbi's algorithm).
#pragma once

#include <memory>
#include <vector>

#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

struct UnigramOptions {
  int32_t unk_id = 0;
  // Unknown characters become <0xNN> tokens if the vocabulary has all that they need.
  bool byte_fallback = false;
};

// `scores` are log probabilities by id, one for each token of `vocabulary`. The ids of `vocabulary`
// are 0, 1, 2, ..
std::unique_ptr<Model> make_unigram(const Vocabulary& vocabulary, std::vector<double> scores,
                                    const UnigramOptions& options);

}  // namespace encode
