// Builds the model from the field "model" of a tokenizer.json.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/load/model_json.h"
#include "tokenizer/models/token_model.h"

namespace encode {

// Returns true if build_model() may be called with `byte_level` = true for this model.
bool model_takes_bytes(const ModelJson& json);

// If `byte_level`, the pieces are raw bytes and the vocabulary is spelled in GPT-2's alphabet.
// `where` names the place in messages. Throws Error (kConfig) for a type or an option that is not
// supported. The code is "tokenizer.unsupported", or "tokenizer.format" if the JSON is malformed.
std::unique_ptr<TokenizerModel> build_model(const ModelJson& json, bool byte_level,
                                            const std::string& where);

}  // namespace encode
