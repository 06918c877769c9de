// The "model" of a tokenizer.json, read in one pass: vocabularies and merges make up nearly all of
// the file.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

struct ModelJson {
  Json options = Json::object();  // all fields but the two below
  Vocabulary vocabulary;          // of Unigram too: ids are places in its list
  std::vector<double> scores;     // Unigram: by id
  std::vector<BpeMerge> merges;
  bool has_vocabulary = false;
  bool has_merges = false;
};

}  // namespace encode
