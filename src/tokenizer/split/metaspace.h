// The pre-tokenizer Metaspace of tokenizer.json: a visible character (usually U+2581) replaces each
// space and begins a new piece.
#pragma once

#include <memory>

#include "tokenizer/split/pre_tokenizer.h"

namespace encode {

// Says whether the replacement is prepended to every piece, only to the first piece of the row, or
// to no piece.
enum class PrependScheme { kAlways, kFirst, kNever };

// `replacement` is at most U+10FFFF. Does not throw Error.
std::unique_ptr<PreTokenizer> make_metaspace(char32_t replacement, PrependScheme scheme,
                                             bool split);

}  // namespace encode
