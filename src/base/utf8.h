// UTF-8 as Unicode defines it (table 3-7 of the Unicode Standard): overlong forms, surrogates and
// values above U+10FFFF are invalid; NUL is an ordinary character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace encode {

bool is_valid_utf8(std::string_view text);

// Offset of the first byte that belongs to no well-formed sequence; text.size() where all is
// well-formed.
size_t first_invalid_utf8(std::string_view text);

// Appends `text` to `out` with one U+FFFD for each maximal subpart of an ill-formed sequence
// ("substitution of maximal subparts", Unicode 3.9; the WHATWG decoder and Python's
// errors='replace' do the same).
void append_repaired_utf8(std::string_view text, std::string& out);

}  // namespace encode
