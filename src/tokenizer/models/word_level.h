// The model WordLevel: each piece that is in the vocabulary is a token, and each other piece
// becomes the unknown token.
#pragma once

#include <memory>

#include "tokenizer/models/token_model.h"
#include "tokenizer/models/vocabulary.h"

namespace encode {

// `unk_id` is the id of the unknown token. Does not throw Error.
std::unique_ptr<TokenizerModel> make_word_level(Vocabulary vocabulary, int32_t unk_id);

}  // namespace encode
