// Regular expressions that have no scanner of their own, through PCRE2's compiler to machine code.
#pragma once

#include <memory>
#include <string>

#include "tokenizer/split/text_pattern.h"

namespace encode {

std::unique_ptr<TextPattern> make_pcre2_pattern(const std::string& regex, const std::string& where);

}  // namespace encode
