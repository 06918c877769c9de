// Code points: UTF-8, properties and mappings exactly as Hugging Face `tokenizers` has them.
//
// Its parts carry tables of different Unicode versions, so the tables here are made from its
// behaviour (scripts/generate/unicode_tables.py) and not from a Unicode library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace encode::unicode {

// In the order of scripts/generate/unicode_tables.py.
enum Property : uint32_t {
  kWhitespace = 1U << 0,      // White_Space
  kControl = 1U << 1,         // what BertNormalizer's clean_text removes
  kPunctuation = 1U << 2,     // ASCII punctuation and general category P
  kNonspacingMark = 1U << 3,  // Mn
  kCombiningMark = 1U << 4,   // M
  kNumeric = 1U << 5,         // Nd, Nl, No
  kWord = 1U << 6,            // \w: Alphabetic, M, Nd, Pc, Join_Control
  kChinese = 1U << 7,         // the CJK blocks of BertNormalizer
  kNfcMaybe = 1U << 8,        // may change in this form, or make its neighbours change
  kNfdMaybe = 1U << 9,
  kNfkcMaybe = 1U << 10,
  kNfkdMaybe = 1U << 11,
  kHasLower = 1U << 12,
  kLetter = 1U << 13,           // \p{L} of the regular expressions
  kNumber = 1U << 14,           // \p{N} of the regular expressions
  kUpperish = 1U << 15,         // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
  kLowerish = 1U << 16,         // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
  kGraphemeExtend = 1U << 17,   // belongs to the grapheme cluster of the character before it
  kGraphemeControl = 1U << 18,  // a grapheme cluster of its own
};

// Two-stage table over all code points; blocks that are alike are stored once.
class PropertyTable {
 public:
  PropertyTable();
  uint32_t operator[](char32_t c) const {
    return values_[block_[c >> kBlockBits] + (c & (kBlockSize - 1))];
  }

 private:
  static constexpr int kBlockBits = 7;
  static constexpr size_t kBlockSize = size_t{1} << kBlockBits;
  static constexpr size_t kBlocks = 0x110000 >> kBlockBits;
  static constexpr size_t kMaxDistinctBlocks = 1024;

  uint32_t block_[kBlocks];  // offset of the block in values_
  uint32_t values_[kMaxDistinctBlocks * kBlockSize];
};

const PropertyTable& properties();
inline int combining_class(uint32_t property_bits) { return static_cast<int>(property_bits >> 24); }

// Full decomposition of `c`; empty where it has none. Hangul syllables are decomposed by
// decompose() only.
std::span<const uint32_t> decomposition(char32_t c, bool compatibility);
// The primary composite of two code points (Hangul included), 0 where there is none.
char32_t compose(char32_t first, char32_t second);
// A code point of the same general category and size in UTF-8 which regular expression engines with
// older tables know as well; `c` itself where its category has been the same since Unicode 14.
char32_t with_older_category(char32_t c);
// A number for the script of `c`, as the pre-tokenizer UnicodeScripts tells them apart; 0 for a
// character that goes with any script (a space, an unassigned one).
uint8_t script(char32_t c);
std::span<const uint32_t> lowercase(char32_t c);  // empty where `c` is its own lower case

inline constexpr char32_t kMetaspace = 0x2581;  // sentencepiece's visible space

inline constexpr char32_t kHangulBase = 0xAC00;
inline constexpr char32_t kHangulCount = 11172;
inline bool is_hangul_syllable(char32_t c) { return c - kHangulBase < kHangulCount; }

struct Decoded {
  char32_t code_point;
  uint32_t size;  // bytes, 1 to 4
};

// The code point at p < end. Bytes that are not UTF-8 come out one by one as U+FFFD: nothing is
// read past `end`.
Decoded decode_multibyte(const char* p, const char* end);
inline Decoded decode(const char* p, const char* end) {
  const auto byte = static_cast<unsigned char>(*p);
  return byte < 0x80 ? Decoded{byte, 1} : decode_multibyte(p, end);
}
// The code point that ends at p > begin.
Decoded decode_before(const char* begin, const char* p);

void append_utf8(std::string& out, char32_t c);

inline bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// Length of the prefix of `text` that is pure ASCII.
size_t ascii_prefix(std::string_view text);

}  // namespace encode::unicode
