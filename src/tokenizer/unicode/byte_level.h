// GPT-2's alphabet: every byte as a printable character, so that vocabularies can be JSON.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// Appends each byte of `text` as its character.
void append_byte_level(std::string_view text, std::string& out);

// Of the character of `byte`, in bytes: printable ASCII stands for itself, the others take two.
inline size_t byte_level_size(char byte) { return byte >= '!' && byte <= '~' ? 1 : 2; }

// The bytes that a vocabulary entry stands for; false where it holds a character that stands for no
// byte.
bool parse_byte_level(std::string_view token, std::string& bytes);

}  // namespace encode
