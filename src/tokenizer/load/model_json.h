// The "model" of a tokenizer.json. It is read in one pass, because vocabularies and merges make up
// nearly all of the file.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

struct ModelJson {
  Json options = Json::object();  // all fields but the vocabulary and the merges
  Vocabulary vocabulary;          // for Unigram, ids are the places in the file's list
  std::vector<double> scores;     // Unigram: the score of each id
  std::vector<BpeMerge> merges;
  bool has_vocabulary = false;
  bool has_merges = false;
};

}  // namespace encode
