// A tokenizer as a document: what a tokenizer.json contains. The older files of a tokenizer are
// turned into such a document too, and the rules of a tokenizer's class change it, before the
// tokenizer is built.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "encode/tokenizer.h"

#include "base/json.h"
#include "tokenizer/load/model_json.h"
#include "tokenizer/pipeline.h"

namespace encode {

struct TokenizerDocument {
  // The fields of tokenizer.json except "model", by their names: "added_tokens", "normalizer",
  // "pre_tokenizer", "post_processor", "truncation".
  std::map<std::string, Json> parts;
  ModelJson model;
  std::string where;  // the file, for messages

  // Returns null if the document does not have the field, or has null as its value.
  const Json* part(const std::string& key) const;
};

// Reads the content of a tokenizer.json. `where` is its name for messages. Throws Error (kConfig)
// if it is not a tokenizer.json, or has a key or a version that is not supported. The code is
// "tokenizer.unsupported", or "tokenizer.format" if the JSON is malformed. The parts are checked
// later, when the tokenizer is built.
TokenizerDocument read_tokenizer_json(std::string text, const std::string& where);

struct BuildOptions {
  // Overrides the "direction" of the document's truncation.
  std::optional<TruncationSide> truncation_side;
  // The normalizer that added tokens are normalized with, if it is not the one of the document.
  std::optional<Json> added_token_normalizer;
  // True: special tokens in a text are text.
  bool split_special_tokens = false;
  // True: Tokenizer::type_ids() has the type ids of the post-processor; otherwise all are 0.
  bool type_ids = false;
  bool lower_case_first = false;  // TokenizerRules::lower_case_first
};

// Builds the tokenizer that the document describes. Throws Error (kConfig) if a part is malformed
// or uses something that is not supported, with the codes of read_tokenizer_json().
std::unique_ptr<Tokenizer> build_tokenizer(TokenizerDocument document,
                                           const BuildOptions& options = {});

}  // namespace encode
