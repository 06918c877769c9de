// Regular expressions without a scanner of their own. PCRE2 compiles them to machine code.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/split/text_pattern.h"

namespace encode {

std::unique_ptr<TextPattern> make_pcre2_pattern(const std::string& regex, const std::string& where);

}  // namespace encode
