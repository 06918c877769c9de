// Precompiled: sentencepiece's normalization rules as tokenizer.json carries them (XLM-R, T5, ..).
#pragma once

#include <memory>
#include <string_view>

#include "tokenizer/normalize/normalizer.h"

namespace encode {

// `charsmap`: size of the trie (4 bytes), a Darts double array, NUL-terminated replacements. Throws
// Error (kConfig) where it does not hold together.
std::unique_ptr<Normalizer> make_precompiled_normalizer(std::string_view charsmap,
                                                        const std::string& where);

}  // namespace encode
