// The field "model" of a tokenizer.json. The file is read directly into this form, without a JSON
// document, because nearly all of a file is vocabulary and merges.
#pragma once

#include <vector>

#include "base/json.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

struct ModelJson {
  Json options = Json::object();  // all fields except the vocabulary and the merges
  Vocabulary vocabulary;          // for Unigram, an id is the index in the file's list
  std::vector<double> scores;     // for Unigram, the score of each id
  std::vector<BpeMerge> merges;
  bool has_vocabulary = false;
  bool has_merges = false;
};

}  // namespace encode
