#include "base/utf8.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <utility>

#include <simdjson.h>

namespace encode {
namespace {

struct Sequence {
  size_t bytes = 1;  // the size of the character, or of the maximal subpart if it is invalid
  bool valid = false;
};

// The bytes that must follow a lead byte. `following` is their number, or 0 if the byte is not a
// lead byte. The first of them must be in `low`..`high`, and the others in 80..BF.
struct Lead {
  size_t following = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0xC2 || byte > 0xF4) return {};
  if (byte < 0xE0) return {.following = 1};
  if (byte == 0xE0) return {.following = 2, .low = 0xA0};
  if (byte == 0xED) return {.following = 2, .high = 0x9F};
  if (byte < 0xF0) return {.following = 2};
  if (byte == 0xF0) return {.following = 3, .low = 0x90};
  if (byte == 0xF4) return {.following = 3, .high = 0x8F};
  return {.following = 3};
}

Sequence sequence_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(at) < 0x80) return {.bytes = 1, .valid = true};
  Lead lead = lead_of(byte(at));
  if (lead.following == 0) return {};
  size_t n = 1;
  for (; n <= lead.following; ++n) {
    if (at + n >= text.size() || byte(at + n) < lead.low || byte(at + n) > lead.high) {
      return {.bytes = n, .valid = false};
    }
    lead.low = 0x80;
    lead.high = 0xBF;
  }
  return {.bytes = n, .valid = true};
}

// Ranges of characters that are invisible or that change the direction of text: C1 controls, the
// marks and overrides of bidirectional text, line separators, zero-width characters, byte order
// marks and tags. Sorted.
constexpr std::array<std::pair<uint32_t, uint32_t>, 10> kUnprintable = {{
    {0x7F, 0x9F},
    {0xAD, 0xAD},
    {0x61C, 0x61C},
    {0x180E, 0x180E},
    {0x200B, 0x200F},
    {0x2028, 0x202E},
    {0x2060, 0x206F},
    {0xFEFF, 0xFEFF},
    {0xFFF9, 0xFFFB},
    {0xE0000, 0xE007F},
}};

bool is_printable(uint32_t c) {
  if (c < 0x20) return c == '\n';
  return std::none_of(kUnprintable.begin(), kUnprintable.end(),
                      [c](const auto& range) { return c >= range.first && c <= range.second; });
}

// Returns the code point of a valid sequence.
uint32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead;
  uint32_t c = lead & (0x7FU >> sequence.size());
  for (const char byte : sequence.substr(1))
    c = c << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  return c;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_at(text, at);
    const std::string_view bytes = text.substr(at, sequence.bytes);
    at += sequence.bytes;
    const uint32_t c = sequence.valid ? code_point(bytes) : 0;
    if (sequence.valid && is_printable(c)) {
      out += bytes;
    } else if (sequence.valid && c >= 0x80) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      for (const char byte : bytes)
        out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    }
  }
  return out;
}

bool is_valid_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

size_t first_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_at(text, at);
    if (!sequence.valid) return at;
    at += sequence.bytes;
  }
  return text.size();
}

std::string_view utf8_prefix(std::string_view text, size_t most) {
  const std::string_view cut = text.substr(0, most);
  return cut.substr(0, first_invalid_utf8(cut));
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

void append_repaired_utf8(std::string_view text, std::string& out) {
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    const Sequence sequence = sequence_at(text, at);
    if (!sequence.valid) {
      out.append(text.substr(copied, at - copied));
      out.append("\xEF\xBF\xBD");
      copied = at + sequence.bytes;
    }
    at += sequence.bytes;
  }
  out.append(text.substr(copied));
}

bool may_begin_text(std::string_view head) {
  if (head.empty()) return false;
  const auto byte = static_cast<unsigned char>(head.front());
  constexpr unsigned char kDelete = 0x7f;
  if (byte <= kDelete)
    return byte == '\t' || byte == '\n' || byte == '\r' || std::isprint(byte) != 0;
  constexpr unsigned char kFirstLead = 0xc2;
  constexpr unsigned char kLastLead = 0xf4;
  return byte >= kFirstLead && byte <= kLastLead;
}

}  // namespace encode
