// The regular expressions that have no scanner. PCRE2 compiles them to machine code.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/split/text_pattern.h"

namespace encode {

// Has the contract of make_regex_pattern(), for a pattern without a scanner.
std::unique_ptr<TextPattern> make_pcre2_pattern(const std::string& regex, const std::string& where);

}  // namespace encode
