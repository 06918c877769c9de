// The normalizer Precompiled of tokenizer.json: the normalization rules of sentencepiece (XLM-R,
// T5).
#pragma once

#include <memory>
#include <string_view>

#include "tokenizer/normalize/normalizer.h"

namespace encode {

// `charsmap` consists of the size of the trie (4 bytes), a Darts double array, and NUL-terminated
// replacements. Throws Error (kConfig) if the parts do not fit together. The normalizer copies
// `charsmap`.
std::unique_ptr<Normalizer> make_precompiled_normalizer(std::string_view charsmap,
                                                        const std::string& where);

}  // namespace encode
