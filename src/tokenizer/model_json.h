// The "model" of a tokenizer.json, read in one pass: vocabularies and merges make up nearly all of
// the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/bpe.h"
#include "tokenizer/model.h"
#include "tokenizer/vocabulary.h"

namespace encode {

struct ModelJson {
  Json options = Json::object();  // all fields but the two below
  Vocabulary vocabulary;          // of Unigram too: ids are places in its list
  std::vector<double> scores;     // Unigram: by id
  std::vector<BpeMerge> merges;
  bool has_vocabulary = false;
  bool has_merges = false;
};

// True for a model that can take raw bytes instead of GPT-2's alphabet.
bool model_takes_bytes(const ModelJson& json);

std::unique_ptr<Model> build_model(const ModelJson& json, bool byte_level,
                                   const std::string& where);

}  // namespace encode
