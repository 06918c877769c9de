// Metaspace of tokenizer.json: a visible character takes the place of each space, and begins a
// piece.
#pragma once

#include <memory>

#include "tokenizer/split/pre_tokenizer.h"

namespace encode {

// Where the replacement is prepended: to every piece, only at the begin of the row, or nowhere.
enum class PrependScheme { kAlways, kFirst, kNever };

std::unique_ptr<PreTokenizer> make_metaspace(char32_t replacement, PrependScheme scheme,
                                             bool split);

}  // namespace encode
