#include "tokenizer/unicode/unicode.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "tokenizer/unicode/unicode_data.h"
#include "tokenizer/unicode/unicode_scripts_data.h"

namespace encode::unicode {
namespace {

constexpr char32_t kHangulL = 0x1100;
constexpr char32_t kHangulV = 0x1161;
constexpr char32_t kHangulT = 0x11A7;
constexpr char32_t kHangulLCount = 19;
constexpr char32_t kHangulVCount = 21;
constexpr char32_t kHangulTCount = 28;

struct Mapping {
  std::span<const uint32_t> keys;
  const uint16_t* offsets;
  const uint32_t* pool;

  std::span<const uint32_t> find(char32_t c) const {
    const auto found = std::lower_bound(keys.begin(), keys.end(), static_cast<uint32_t>(c));
    if (found == keys.end() || *found != c) return {};
    const auto i = static_cast<size_t>(found - keys.begin());
    return {pool + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])};
  }
};

}  // namespace

const PropertyTable& properties() {
  static const std::unique_ptr<const PropertyTable> table = std::make_unique<PropertyTable>(
      std::span(kRunStarts, kRunStartsSize), std::span(kRunValues, kRunValuesSize));
  return *table;
}

std::span<const uint32_t> decomposition(char32_t c, bool compatibility) {
  static const Mapping canonical{
      {kCanonicalKeys, kCanonicalKeysSize}, kCanonicalOffsets, kCanonicalPool};
  static const Mapping compat{
      {kCompatibilityKeys, kCompatibilityKeysSize}, kCompatibilityOffsets, kCompatibilityPool};
  if (compatibility) {
    if (const auto found = compat.find(c); !found.empty()) return found;
  }
  return canonical.find(c);
}

char32_t compose(char32_t first, char32_t second) {
  if (first - kHangulL < kHangulLCount && second - kHangulV < kHangulVCount) {
    return kHangulBase + ((first - kHangulL) * kHangulVCount + (second - kHangulV)) * kHangulTCount;
  }
  if (is_hangul_syllable(first) && (first - kHangulBase) % kHangulTCount == 0 &&
      second - (kHangulT + 1) < kHangulTCount - 1) {
    return first + (second - kHangulT);
  }
  const uint64_t key = static_cast<uint64_t>(first) << 32 | second;
  const uint64_t* end = kCompositionKeys + kCompositionKeysSize;
  const uint64_t* found = std::lower_bound(kCompositionKeys, end, key);
  return found != end && *found == key ? kCompositionValues[found - kCompositionKeys] : 0;
}

char32_t with_older_category(char32_t c) {
  const uint32_t* end = kNewerStarts + kNewerStartsSize;
  const uint32_t* after = std::upper_bound(kNewerStarts, end, static_cast<uint32_t>(c));
  if (after == kNewerStarts) return c;
  const auto run = static_cast<size_t>(after - kNewerStarts) - 1;
  return c < kNewerEnds[run] ? kNewerSubstitutes[run] : c;
}

uint8_t script(char32_t c) {
  const uint32_t* end = kScriptStarts + kScriptStartsSize;
  const uint32_t* after = std::upper_bound(kScriptStarts, end, static_cast<uint32_t>(c));
  return kScriptValues[after - kScriptStarts - 1];
}

std::span<const uint32_t> lowercase(char32_t c) {
  static const Mapping lower{{kLowerKeys, kLowerKeysSize}, kLowerOffsets, kLowerPool};
  return lower.find(c);
}

Decoded decode_multibyte(const char* p, const char* end) {
  constexpr Decoded kInvalid{0xFFFD, 1};
  const auto byte = [p](int i) { return static_cast<char32_t>(static_cast<unsigned char>(p[i])); };
  const ptrdiff_t left = end - p;
  const char32_t lead = byte(0);
  if (lead < 0xC2 || left < 2 || !is_continuation(p[1])) return kInvalid;
  if (lead < 0xE0) return {(lead & 0x1FU) << 6 | (byte(1) & 0x3FU), 2};
  if (left < 3 || !is_continuation(p[2])) return kInvalid;
  if (lead < 0xF0) return {(lead & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU), 3};
  if (left < 4 || !is_continuation(p[3])) return kInvalid;
  const char32_t c =
      (lead & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
  return lead < 0xF5 && c < 0x110000 ? Decoded{c, 4} : kInvalid;
}

Decoded decode_before(const char* begin, const char* p) {
  const char* start = p - 1;
  while (start > begin && p - start < 4 && is_continuation(*start)) --start;
  const Decoded decoded = decode(start, p);
  return start + decoded.size == p ? decoded : Decoded{0xFFFD, 1};
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
    return;
  }
  char bytes[4];
  size_t size = 0;
  if (c < 0x800) {
    bytes[size++] = static_cast<char>(0xC0U | c >> 6);
  } else {
    if (c < 0x10000) {
      bytes[size++] = static_cast<char>(0xE0U | c >> 12);
    } else {
      bytes[size++] = static_cast<char>(0xF0U | c >> 18);
      bytes[size++] = static_cast<char>(0x80U | (c >> 12 & 0x3FU));
    }
    bytes[size++] = static_cast<char>(0x80U | (c >> 6 & 0x3FU));
  }
  bytes[size++] = static_cast<char>(0x80U | (c & 0x3FU));
  out.append(bytes, size);
}

size_t ascii_prefix(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080U;
  size_t i = 0;
  for (; i + 32 <= text.size(); i += 32) {
    uint64_t words[4];
    std::memcpy(words, text.data() + i, sizeof words);
    if (((words[0] | words[1] | words[2] | words[3]) & kHighBits) != 0) break;
  }
  while (i < text.size() && is_ascii(text[i])) ++i;
  return i;
}

}  // namespace encode::unicode
