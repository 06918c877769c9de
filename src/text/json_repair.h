// Repairs JSON that RFC 8259 allows and simdjson refuses. Invalid JSON stays invalid.
#pragma once

#include <string>

namespace encode {

// Replaces each escape \uD800 to \uDFFF that is not half of a surrogate pair by \uFFFD, because a
// lone surrogate has no UTF-8 form. Returns true if it has replaced an escape. Throws no Error.
bool replace_lone_surrogate_escapes(std::string& json);

// Replaces the numbers that simdjson cannot hold, outside of strings, by numbers that cannot be
// taken for a token id. Returns true if it has replaced one. Throws no Error.
// - Shortens each integer of more than 18 digits to its first 18 digits, because it may not fit in
//   64 bits.
// - Replaces each number with a fraction or an exponent that a double cannot hold (RFC 8259 allows
//   1e400) by "0.5" and spaces.
bool fit_numbers(std::string& json);

}  // namespace encode
