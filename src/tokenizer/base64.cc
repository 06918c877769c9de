#include "tokenizer/base64.h"

#include <cstdint>

namespace encode {
namespace {

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

bool decode_base64(std::string_view text, std::string& bytes) {
  bytes.clear();
  if (text.size() % 4 != 0) return false;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const size_t padding = last && text[i + 3] == '=' ? (text[i + 2] == '=' ? 2 : 1) : 0;
    uint32_t bits = 0;
    for (size_t k = 0; k < 4; ++k) {
      const int value = k < 4 - padding ? value_of(text[i + k]) : 0;
      if (value < 0) return false;
      bits = bits << 6 | static_cast<uint32_t>(value);
    }
    for (size_t k = 0; k < 3 - padding; ++k)
      bytes.push_back(static_cast<char>(bits >> (16 - 8 * k) & 0xFFU));
  }
  return true;
}

}  // namespace encode
