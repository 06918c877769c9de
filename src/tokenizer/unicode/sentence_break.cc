#include "tokenizer/unicode/sentence_break.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tokenizer/unicode/break_table.h"
#include "tokenizer/unicode/unicode.h"

namespace encode::unicode {
namespace {

bool is_separator(SentenceClass c) {
  return c == SentenceClass::kCr || c == SentenceClass::kLf || c == SentenceClass::kSep;
}

bool is_terminator(SentenceClass c) {
  return c == SentenceClass::kATerm || c == SentenceClass::kSTerm;
}

// The second half of SB8: returns whether the first of the classes that end the search, from p on,
// is Lower. It stops at the next terminator, so the searches of a text do not overlap.
bool lower_follows(const char* p, const char* end) {
  using enum SentenceClass;
  while (p < end) {
    const Decoded next = decode(p, end);
    const SentenceClass c = sentence_class(break_table()[next.code_point]);
    if (c == kLower) return true;
    if (c == kOLetter || c == kUpper || is_separator(c) || is_terminator(c)) return false;
    p += next.size;
  }
  return false;
}

// The ASCII characters that end no sentence and separate no paragraphs.
std::array<bool, 256> make_plain_bytes() {
  std::array<bool, 256> plain = {};
  for (size_t byte = 0; byte < 0x80; ++byte) {
    const SentenceClass c = sentence_class(break_table()[static_cast<char32_t>(byte)]);
    plain[byte] = !is_separator(c) && !is_terminator(c);
  }
  return plain;
}

constexpr ptrdiff_t kPlainBlock = 16;

// Returns the number of bytes from p on, at most kPlainBlock, before the first one that may not be
// plain: a terminator, a control character, or no ASCII. The compiler makes vector instructions of
// the loop.
ptrdiff_t count_usual(const char* p) {
  std::array<uint8_t, kPlainBlock> others;
  for (size_t i = 0; i < others.size(); ++i) {
    const auto byte = static_cast<uint8_t>(p[i]);
    const auto is_in = [byte](uint8_t first, uint8_t count) -> uint8_t {
      return static_cast<uint8_t>(byte - first) < count ? 1 : 0;
    };
    others[i] = (is_in(' ', 0x5F) ^ 1U) | is_in('.', 1) | is_in('!', 1) | is_in('?', 1);
  }
  const auto halves = std::bit_cast<std::array<uint64_t, 2>>(others);
  static_assert(std::endian::native == std::endian::little);
  return halves[0] != 0 ? std::countr_zero(halves[0]) / 8 : 8 + std::countr_zero(halves[1]) / 8;
}

// Returns the end of the plain bytes that begin at p.
const char* skip_plain(const char* p, const char* end) {
  static const std::array<bool, 256> plain = make_plain_bytes();
  for (;; ++p) {
    while (end - p >= kPlainBlock) {
      const ptrdiff_t usual = count_usual(p);
      p += usual;
      if (usual < kPlainBlock) break;
    }
    if (p == end || !plain[static_cast<unsigned char>(*p)]) return p;
  }
}

// What the text before a position ends with, without Extend and Format (SB5).
class BreakState {
 public:
  // Returns whether the text ends with no part of "terminator Close* Sp*".
  bool is_plain() const { return part_ == Part::kNone; }

  // Returns whether a sentence ends before the code point at p, which has class `c`. `c` is not
  // Extend or Format.
  bool breaks(SentenceClass c, const char* p, const char* end) const {
    using enum SentenceClass;
    if (part_ == Part::kNone) return false;
    if (c == kSContinue || is_terminator(c)) return false;  // SB8a
    if (c == kSp || is_separator(c) || (c == kClose && part_ != Part::kSp))
      return false;                  // SB9, 10
    if (!after_aterm_) return true;  // SB11
    if (part_ == Part::kTerminator) {
      if (c == kNumeric) return false;                 // SB6
      if (after_letter_ && c == kUpper) return false;  // SB7
    }
    return !lower_follows(p, end);  // SB8
  }

  // Appends a code point before which no sentence ends.
  void append(SentenceClass c) {
    using enum SentenceClass;
    if (is_terminator(c)) {
      after_aterm_ = c == kATerm;
      after_letter_ = last_ == kUpper || last_ == kLower;
      part_ = Part::kTerminator;
    } else if (part_ != Part::kNone && c == kSp) {
      part_ = Part::kSp;
    } else if (part_ != Part::kNone && part_ != Part::kSp && c == kClose) {
      part_ = Part::kClose;
    } else {
      part_ = Part::kNone;
    }
    last_ = c;
  }

 private:
  // The last element of "terminator Close* Sp*" that the text ends with.
  enum class Part { kNone, kTerminator, kClose, kSp };

  Part part_ = Part::kNone;
  bool after_aterm_ = false;   // the terminator is an ATerm
  bool after_letter_ = false;  // an Upper or a Lower is before the terminator
  SentenceClass last_ = SentenceClass::kOther;
};

}  // namespace

size_t sentence_end(std::string_view utf8, size_t begin) {
  using enum SentenceClass;
  const auto& table = break_table();
  const char* end = utf8.data() + utf8.size();
  BreakState state;
  SentenceClass before = kOther;  // with Extend and Format
  const char* p = utf8.data() + begin;
  while (p < end) {
    if (state.is_plain() && !is_separator(before)) {
      const char* plain_end = skip_plain(p, end);
      if (plain_end > p) {
        before = sentence_class(table[static_cast<unsigned char>(plain_end[-1])]);
        state.append(before);
        p = plain_end;
        continue;
      }
    }
    const Decoded next = decode(p, end);
    const SentenceClass c = sentence_class(table[next.code_point]);
    if (is_separator(before) && !(before == kCr && c == kLf)) break;  // SB3, SB4
    before = c;
    if (c != kExtend && c != kFormat) {
      if (state.breaks(c, p, end)) break;
      state.append(c);
    }
    p += next.size;
  }
  return static_cast<size_t>(p - utf8.data());
}

}  // namespace encode::unicode
