// Repairs JSON that RFC 8259 allows and simdjson refuses. Invalid JSON stays invalid.
#pragma once

#include <string>

namespace encode {

// Replaces each escape \uD800 to \uDFFF that is not half of a surrogate pair by \uFFFD, because a
// lone surrogate has no UTF-8 form. Returns true if at least one escape was replaced.
bool replace_lone_surrogate_escapes(std::string& json);

// Replaces each integer of more than 18 digits by its first 18 digits, because a longer integer may
// not fit in 64 bits. Integers of 18 digits are still too large for a token id, so none becomes a
// valid id. Returns true if at least one integer was shortened.
bool shorten_big_integers(std::string& json);

}  // namespace encode
