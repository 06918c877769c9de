// The normalizers of tokenizer.json that rewrite one code point, or one match of a pattern, at a
// time. The texts of the arguments are valid UTF-8. These functions throw no
// Error. normalizer.h states the failure of a normalizer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tokenizer/normalize/normalizer.h"
#include "tokenizer/split/text_pattern.h"

namespace encode {

std::unique_ptr<Normalizer> make_lowercase_normalizer();
void lowercase_aligned(AlignedText& text);  // does what Lowercase does
std::unique_ptr<Normalizer> make_strip_accents_normalizer();
std::unique_ptr<Normalizer> make_strip_normalizer(bool left, bool right);
std::unique_ptr<Normalizer> make_prepend_normalizer(std::string prefix);
std::unique_ptr<Normalizer> make_nmt_normalizer();
std::unique_ptr<Normalizer> make_byte_level_normalizer();

std::unique_ptr<Normalizer> make_replace_normalizer(std::unique_ptr<TextPattern> pattern,
                                                    std::string content);

// `from` must be an ASCII character.
std::unique_ptr<Normalizer> make_replace_byte_normalizer(char from, std::string content);

std::unique_ptr<Normalizer> make_normalizer_sequence(
    std::vector<std::unique_ptr<Normalizer>> steps);

}  // namespace encode
