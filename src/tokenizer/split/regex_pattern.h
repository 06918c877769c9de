// Matches the regular expressions that have no scanner, with PCRE2.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/split/text_pattern.h"

namespace encode {

// Does what make_regex_pattern() (text_pattern.h) describes, for a pattern without a scanner.
std::unique_ptr<TextPattern> make_pcre2_pattern(const std::string& regex, const std::string& where);

}  // namespace encode
