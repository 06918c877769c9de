// Unigram: of all ways to cut a piece into tokens the one with the highest sum of scores (Viterbi).
#pragma once

#include <memory>
#include <vector>

#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

struct UnigramOptions {
  int32_t unk_id = 0;
  bool byte_fallback =
      false;  // unknown characters become <0xNN> tokens, where the vocabulary has all they need
};

// `scores` by id: log probabilities, one for each token of `vocabulary`, whose ids are 0, 1, 2, ..
std::unique_ptr<Model> make_unigram(const Vocabulary& vocabulary, std::vector<double> scores,
                                    const UnigramOptions& options);

}  // namespace encode
