// GPT-2's alphabet spells every byte as a printable character, so that a vocabulary of bytes can be
// written in JSON.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// Appends the character of each byte of `text`.
void append_byte_level(std::string_view text, std::string& out);

// Returns the size of the character of `byte` in UTF-8: 1 for printable ASCII, which stands for
// itself, and 2 for all other bytes.
inline size_t byte_level_size(char byte) { return byte >= '!' && byte <= '~' ? 1 : 2; }

// Gives the bytes that a token of a vocabulary stands for. Returns false if the token contains a
// character that stands for no byte.
bool parse_byte_level(std::string_view token, std::string& bytes);

}  // namespace encode
