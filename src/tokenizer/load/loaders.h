// Builds the parts of a tokenizer from the fields of a tokenizer.json. Each function throws Error
// (kConfig) for a type or an option that is not supported. The code is "tokenizer.unsupported", or
// "tokenizer.format" if the JSON is malformed.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/load/component.h"
#include "tokenizer/load/model_json.h"
#include "tokenizer/models/token_model.h"
#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/split/pre_tokenizer.h"

namespace encode {

std::unique_ptr<Normalizer> load_normalizer(const Component& component);

struct LoadedPreTokenizer {
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  // True if the last step is ByteLevel without the spelling in GPT-2's alphabet. The model must
  // then be built with `byte_level` = true.
  bool byte_level = false;
};

// `takes_bytes` is the result of model_takes_bytes().
LoadedPreTokenizer load_pre_tokenizer(const Component& component, bool takes_bytes);

// Returns true if build_model() may be called with `byte_level` = true for this model. Does not
// throw.
bool model_takes_bytes(const ModelJson& json);

// If `byte_level`, the pieces are raw bytes and the vocabulary is spelled in GPT-2's alphabet.
// `where` names the place in messages.
std::unique_ptr<TokenizerModel> build_model(const ModelJson& json, bool byte_level,
                                            const std::string& where);

// Returns the special tokens around a single text, and how the offsets of the text are trimmed.
SpecialTokens load_post_processor(const Component& component);

}  // namespace encode
