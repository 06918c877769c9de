// The normalizer Precompiled of tokenizer.json: the normalization rules of sentencepiece (XLM-R,
// T5).
#pragma once

#include <memory>
#include <string_view>

#include "tokenizer/normalize/normalizer.h"

namespace encode {

// `charsmap` consists of a 4-byte size of the trie, the trie (a Darts double array), and
// NUL-terminated replacements. `where` names the place in messages. Throws Error (kConfig) if the
// charsmap is malformed.
std::unique_ptr<Normalizer> make_precompiled_normalizer(std::string_view charsmap,
                                                        const std::string& where);

}  // namespace encode
