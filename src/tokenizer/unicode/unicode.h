// UTF-8 and the properties and mappings of code points, exactly as in Hugging Face `tokenizers`.
//
// The parts of that library have tables of different Unicode versions. So the tables here are made
// from its behaviour (scripts/generate/unicode.py) and not from a Unicode library. Any
// number of threads may call these functions. They throw no Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/unicode/code_point_table.h"

namespace encode::unicode {

// The order of the flags must be the order in scripts/generate/unicode.py.
enum Property : uint32_t {
  kWhitespace = 1U << 0,      // White_Space
  kControl = 1U << 1,         // BertNormalizer's clean_text removes it
  kPunctuation = 1U << 2,     // ASCII punctuation and general category P
  kNonspacingMark = 1U << 3,  // general category Mn
  kCombiningMark = 1U << 4,   // general category M
  kNumeric = 1U << 5,         // general category Nd, Nl or No
  kWord = 1U << 6,            // matches \w: Alphabetic, M, Nd, Pc, Join_Control
  kChinese = 1U << 7,         // the CJK blocks of BertNormalizer
  // NFC may change the character, or may change the characters beside it. The next three flags mean
  // the same for the other forms.
  kNfcMaybe = 1U << 8,
  kNfdMaybe = 1U << 9,
  kNfkcMaybe = 1U << 10,
  kNfkdMaybe = 1U << 11,
  kHasLower = 1U << 12,
  kLetter = 1U << 13,           // \p{L} of the regular expressions
  kNumber = 1U << 14,           // \p{N} of the regular expressions
  kUpperish = 1U << 15,         // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
  kLowerish = 1U << 16,         // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
  kGraphemeExtend = 1U << 17,   // is in the grapheme cluster of the character before it
  kGraphemeControl = 1U << 18,  // is a grapheme cluster of its own
};

// The value of a code point is its Property bits, and its canonical combining class in bits 24 to
// 31.
using PropertyTable = CodePointTable<uint32_t>;

// Returns the table, which is made at the first call and lives as long as the process. Any thread
// may call it.
const PropertyTable& properties();
// Returns the canonical combining class, 0 to 254, from a value of PropertyTable.
inline int combining_class(uint32_t property_bits) { return static_cast<int>(property_bits >> 24); }

// Returns the full decomposition of `c`, or an empty span if there is none. The result is also
// empty for Hangul syllables, which CanonicalDecomposer decomposes itself.
std::span<const uint32_t> decomposition(char32_t c, bool compatibility);
// Returns the primary composite of two code points (Hangul included), or 0 if there is none.
char32_t compose(char32_t first, char32_t second);
// Returns `c` if its general category has not changed since Unicode 14. Otherwise returns another
// code point that has the category of `c` also in older tables, and the same size in UTF-8.
char32_t with_older_category(char32_t c);
// Returns a number for the script of `c`. Two scripts have different numbers if the pre-tokenizer
// UnicodeScripts distinguishes them. A character without a script of its own (a space, an
// unassigned code point) has the number 0.
uint8_t script(char32_t c);
std::span<const uint32_t> lowercase(char32_t c);  // returns nothing if `c` is its own lower case

// The character that sentencepiece writes for a space.
inline constexpr char32_t kMetaspace = 0x2581;
inline constexpr std::string_view kMetaspaceUtf8 = "\xE2\x96\x81";

inline constexpr char32_t kHangulBase = 0xAC00;
inline constexpr char32_t kHangulCount = 11172;
inline bool is_hangul_syllable(char32_t c) { return c - kHangulBase < kHangulCount; }

struct Decoded {
  char32_t code_point;
  uint32_t size;  // bytes, 1 to 4
};

// Returns the code point at p, which must be less than `end`. The text should be valid UTF-8. In
// invalid text, a byte at which no complete sequence begins is decoded as U+FFFD, and overlong
// forms and surrogates are decoded as if they were valid. Reads nothing at or after `end`.
Decoded decode_multibyte(const char* p, const char* end);
inline Decoded decode(const char* p, const char* end) {
  const auto byte = static_cast<unsigned char>(*p);
  return byte < 0x80 ? Decoded{byte, 1} : decode_multibyte(p, end);
}
// Returns the code point that ends at p. `begin` must be less than p.
Decoded decode_before(const char* begin, const char* p);

// Appends the 1 to 4 bytes of `c`, which must be at most U+10FFFF. Does not check `c`: a surrogate
// becomes three bytes that are not valid UTF-8. Throws no Error.
void append_utf8(std::string& out, char32_t c);

inline bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

inline bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// Returns the number of ASCII bytes at the beginning of `text`.
size_t ascii_prefix(std::string_view text);

}  // namespace encode::unicode
