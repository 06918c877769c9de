#include "base/utf8.h"

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

}  // namespace

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

}  // namespace encode
