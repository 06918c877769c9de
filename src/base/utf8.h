// UTF-8 as table 3-7 of the Unicode Standard defines it. Overlong forms, surrogates and values
// above U+10FFFF are invalid. NUL is an ordinary character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace encode {

// The byte order mark (U+FEFF), with which a text may begin.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Any thread may call these functions. They do not throw Error.
bool is_valid_utf8(std::string_view text);

// Returns the offset of the first byte that is not part of a valid sequence, or text.size() if the
// whole text is valid.
size_t first_invalid_utf8(std::string_view text);

// Returns the longest beginning of `text` that is valid and has at most `most` bytes. It does not
// cut a character in two.
std::string_view utf8_prefix(std::string_view text, size_t most);

// Returns false for a byte that continues a character.
inline bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// Returns the number of characters of valid text. Most of them take one column of a terminal.
size_t count_characters(std::string_view text);

// Appends `text` to `out`, with one U+FFFD in place of each maximal subpart of an invalid sequence
// ("substitution of maximal subparts", Unicode 3.9). The WHATWG decoder and Python's
// errors='replace' do the same.
void append_repaired_utf8(std::string_view text, std::string& out);

// Returns `text` as a terminal may show it. Characters that cannot be seen or that change how other
// characters are shown are escaped: control characters except the line feed (\x1b), format
// characters such as U+202E (\u202e), and each byte that is not UTF-8 (\xff). The result is valid
// UTF-8, and printable() does not change it again.
std::string printable(std::string_view text);

// Returns false if the bytes cannot begin a text: the first byte is a control character, or begins
// no UTF-8 sequence. A file that encode writes without a sync may begin so after power loss, with
// zeros or with bytes that were on the disk before.
bool may_begin_text(std::string_view head);

}  // namespace encode
