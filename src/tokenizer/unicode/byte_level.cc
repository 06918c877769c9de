#include "tokenizer/unicode/byte_level.h"

#include <array>
#include <cstdint>

#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

// The bytes that are not printable in Latin-1 are spelled as the code points from kShifted on.
constexpr char32_t kShifted = 0x100;
constexpr size_t kAlphabetEnd = 0x144;

constexpr bool is_printable(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct ByteAlphabet {
  std::array<char32_t, 256> of_byte{};
  std::array<int16_t, kAlphabetEnd> byte_of{};

  constexpr ByteAlphabet() {
    for (auto& b : byte_of) b = -1;
    char32_t next = kShifted;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const char32_t c = is_printable(byte) ? byte : next++;
      of_byte[byte] = c;
      byte_of[c] = static_cast<int16_t>(byte);
    }
  }
};
constexpr ByteAlphabet kAlphabet;

}  // namespace

void append_byte_level(std::string_view text, std::string& out) {
  for (const char byte : text)
    unicode::append_utf8(out, kAlphabet.of_byte[static_cast<unsigned char>(byte)]);
}

bool parse_byte_level(std::string_view token, std::string& bytes) {
  bytes.clear();
  const char* end = token.data() + token.size();
  for (const char* p = token.data(); p < end;) {
    const unicode::Decoded d = unicode::decode(p, end);
    if (d.code_point >= kAlphabetEnd || kAlphabet.byte_of[d.code_point] < 0) return false;
    bytes.push_back(static_cast<char>(kAlphabet.byte_of[d.code_point]));
    p += d.size;
  }
  return true;
}

}  // namespace encode
