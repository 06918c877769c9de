// UTF-8 as table 3-7 of the Unicode Standard defines it. Overlong forms, surrogates and values
// above U+10FFFF are invalid. NUL is an ordinary character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace encode {

// Any thread may call these functions. They do not throw Error.
bool is_valid_utf8(std::string_view text);

// Returns the offset of the first byte that is not part of a valid sequence, or text.size() if the
// whole text is valid.
size_t first_invalid_utf8(std::string_view text);

// Appends `text` to `out`, with one U+FFFD in place of each maximal subpart of an invalid sequence
// ("substitution of maximal subparts", Unicode 3.9). The WHATWG decoder and Python's
// errors='replace' do the same.
void append_repaired_utf8(std::string_view text, std::string& out);

}  // namespace encode
