// GPT-2's alphabet spells each byte as a printable character, so that JSON can hold a vocabulary of
// byte strings.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// Appends the spelling of each byte of `text` to `out`. These functions throw no Error, and any
// thread may call them.
void append_byte_level(std::string_view text, std::string& out);

// Returns the UTF-8 size of the spelling of `byte`: 1 for printable ASCII, which is spelled as
// itself, and 2 for all other bytes.
inline size_t byte_level_size(char byte) { return byte >= '!' && byte <= '~' ? 1 : 2; }

// Writes the bytes that `token` spells to `bytes`. Returns false if the token has a character that
// is not in the alphabet.
bool parse_byte_level(std::string_view token, std::string& bytes);

}  // namespace encode
