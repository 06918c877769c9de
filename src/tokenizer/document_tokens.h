// The tokens of the documents of a late-interaction model (encode/late_interaction.h). Any thread
// may call these functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/late_interaction.h"
#include "encode/model_directory.h"
#include "encode/tokenizer.h"
#include "encode/tokenizer_file.h"

namespace encode {

// Loads the tokenizer of a model. `source` is read_tokenizer_source(directory). The tokenizer of a
// late-interaction model with a marker puts the marker after the first token of every text.
// TokenizeOptions::max_length then counts the marker and must be 0 or at least 2. Throws what
// load_tokenizer_from() throws, and Error kConfig "tokenizer.late_interaction" if the tokenizer or
// the model does not have the marker.
std::unique_ptr<Tokenizer> load_document_tokenizer(TokenizerSource source,
                                                   const ModelDirectory& directory);

// Returns the Error kNoInput "tokenizer.file" for an input with texts and a model directory without
// a tokenizer.
ErrorDetail texts_without_tokenizer(const std::string& model_path);

// Returns the ids of the skip words, in ascending order. `where` names the model for messages.
// Throws Error kConfig "tokenizer.late_interaction" if the vocabulary has neither a skip word nor
// the unknown token.
std::vector<int32_t> skip_list_ids(const LateInteraction& late, const Tokenizer& tokenizer,
                                   const std::string& where);

}  // namespace encode
