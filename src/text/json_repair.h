// JSON that RFC 8259 allows and simdjson refuses, brought into a form that it takes. Neither
// function needs valid JSON, and neither makes invalid JSON valid.
#pragma once

#include <string>

namespace encode {

// Rewrites each escape \uD800 to \uDFFF that is not half of a pair as \uFFFD: such a string has no
// UTF-8 form. Returns whether there was one.
bool replace_lone_surrogate_escapes(std::string& json);

// Shortens each integer of more than 18 digits, which 64 bits may not hold, to its first digit: the
// readers look at no number. Returns whether there was one.
bool shorten_big_integers(std::string& json);

}  // namespace encode
