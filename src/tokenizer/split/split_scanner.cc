#include "tokenizer/split/split_scanner.h"

#include <array>

#include "tokenizer/unicode/unicode.h"

namespace encode {
namespace {

using unicode::Decoded;

enum CharClass : uint8_t { kLetter, kNumber, kSpace, kOther };

constexpr auto kAsciiClass = [] {
  std::array<CharClass, 128> table{};
  for (size_t c = 0; c < table.size(); ++c) {
    table[c] = kOther;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) table[c] = kLetter;
    if (c >= '0' && c <= '9') table[c] = kNumber;
    if (c == ' ' || (c >= '\t' && c <= '\r')) table[c] = kSpace;
  }
  return table;
}();

struct ClassAt {
  CharClass char_class;
  uint32_t size;
};

// Classifies and skips the characters of one text. For at(), p must be less than `end`. The other
// functions accept p == end.
class ScanReader {
 public:
  ScanReader(std::string_view text, uint32_t base, std::vector<Piece>& pieces)
      : begin(text.data()), end(text.data() + text.size()), base_(base), pieces_(pieces) {}

  ClassAt at(const char* p) const {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte < 0x80) return {kAsciiClass[byte], 1};
    const Decoded d = unicode::decode_multibyte(p, end);
    const uint32_t properties = table_[d.code_point];
    if ((properties & unicode::kLetter) != 0) return {kLetter, d.size};
    if ((properties & unicode::kNumber) != 0) return {kNumber, d.size};
    return {(properties & unicode::kWhitespace) != 0 ? kSpace : kOther, d.size};
  }
  bool is(const char* p, CharClass char_class) const {
    return p < end && at(p).char_class == char_class;
  }

  // Returns the end of the run of characters of `char_class` that begins at p. Returns p if the
  // character at p is of another class.
  const char* skip(const char* p, CharClass char_class) const {
    while (p < end) {
      const ClassAt here = at(p);
      if (here.char_class != char_class) break;
      p += here.size;
    }
    return p;
  }
  // has() and skip_all() do the same as is() and skip() for characters that have at least one of
  // `properties` (unicode.h).
  bool has(const char* p, uint32_t properties) const {
    return p < end && (table_[unicode::decode(p, end).code_point] & properties) != 0;
  }
  const char* skip_all(const char* p, uint32_t properties) const {
    while (has(p, properties)) p += unicode::decode(p, end).size;
    return p;
  }
  const char* skip_newlines(const char* p) const {
    while (p < end && is_newline(*p)) ++p;
    return p;
  }
  static bool is_newline(char c) { return c == '\n' || c == '\r'; }

  // Matches \s+(?!\S)|\s+ at p. A run of white space at the end of the text matches as a whole. Any
  // other run matches without its last character, which goes to the next piece. A run of one
  // character always matches.
  const char* skip_spaces(const char* p) const {
    const char* last = p;
    const char* q = p;
    while (q < end) {
      const ClassAt here = at(q);
      if (here.char_class != kSpace) break;
      last = q;
      q += here.size;
    }
    return q == end || last == p ? q : last;
  }

  void push(const char* from, const char* to) {
    pieces_.push_back(
        {base_ + static_cast<uint32_t>(from - begin), base_ + static_cast<uint32_t>(to - begin)});
  }

  const char* const begin;
  const char* const end;

 private:
  uint32_t base_;
  std::vector<Piece>& pieces_;
  const unicode::PropertyTable& table_ = unicode::properties();
};

// Matches 's|'t|'re|'ve|'m|'ll|'d at the apostrophe p. Returns p if there is no match.
template <bool kIgnoreCase>
const char* skip_contraction(const char* p, const char* end) {
  if (end - p < 2) return p;
  const auto fold = [](char c) {
    return kIgnoreCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  };
  const char first = fold(p[1]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return p + 2;
  if (end - p < 3) return p;
  const char second = fold(p[2]);
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
      (first == 'l' && second == 'l'))
    return p + 3;
  // U+017F, the long s, is the only other character that folds to one of these letters.
  if (kIgnoreCase && p[1] == '\xC5' && p[2] == '\xBF') return p + 3;
  return p;
}

// Matches \s*[\r\n]+|\s+(?!\S)|\s+ at the white space p. If the run has a line break, the match
// ends after its last line break.
const char* skip_spaces_and_lines(const ScanReader& reader, const char* p) {
  const char* after_newline = nullptr;
  const char* last = p;
  const char* q = p;
  while (q < reader.end) {
    const ClassAt here = reader.at(q);
    if (here.char_class != kSpace) break;
    last = q;
    q += here.size;
    if (ScanReader::is_newline(*last)) after_newline = q;
  }
  if (after_newline != nullptr) return after_newline;
  return q == reader.end || last == p ? q : last;
}

// Scans cl100k. D is kMaxDigits:
// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,D}|[ ]?[^\s\p{L}\p{N}]+[\r\n]*|
// \s*[\r\n]+|\s+(?!\S)|\s+
template <int kMaxDigits>
void scan_cl100k(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  ScanReader reader(text, base, pieces);
  for (const char* p = reader.begin; p < reader.end;) {
    const char* start = p;
    const ClassAt here = reader.at(p);
    const char* next = p + here.size;
    if (here.char_class == kLetter) {
      p = reader.skip(next, kLetter);
    } else if (here.char_class == kNumber) {
      p = next;
      for (int digits = 1; digits < kMaxDigits && reader.is(p, kNumber); ++digits)
        p += reader.at(p).size;
    } else {
      if (*p == '\'') p = skip_contraction<true>(p, reader.end);
      if (p != start) {
        // The piece is the contraction, whose end is already in p.
      } else if (!ScanReader::is_newline(*p) && reader.is(next, kLetter)) {
        p = reader.skip(next, kLetter);
      } else if (here.char_class == kOther || (*p == ' ' && reader.is(next, kOther))) {
        p = reader.skip_newlines(reader.skip(next, kOther));
      } else {
        p = skip_spaces_and_lines(reader, p);
      }
    }
    reader.push(start, p);
  }
}

// Matches [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ at p. Returns p if there is no
// match. If no character of the second class follows the run of the first class, the match ends
// after the last character of the run that is in both classes.
const char* skip_capitals_and_small(const ScanReader& reader, const char* p) {
  const char* after_both = p;
  const char* q = p;
  while (reader.has(q, unicode::kUpperish)) {
    const char* next = q + reader.at(q).size;
    if (reader.has(q, unicode::kLowerish)) after_both = next;
    q = next;
  }
  return reader.has(q, unicode::kLowerish) ? reader.skip_all(q, unicode::kLowerish) : after_both;
}

// Matches the first two alternatives of o200k, without the contraction. Returns p if neither
// matches. Both may begin with one character that is not a letter, a number or a line break. A mark
// can be this character or a part of the word, so the attempts must be made in the order of the
// regular expression.
const char* skip_o200k_word(const ScanReader& reader, const char* p) {
  const ClassAt here = reader.at(p);
  const bool is_prefix =
      here.char_class != kLetter && here.char_class != kNumber && !ScanReader::is_newline(*p);
  const char* next = p + here.size;
  if (is_prefix) {
    if (const char* q = skip_capitals_and_small(reader, next); q != next) return q;
  }
  if (const char* q = skip_capitals_and_small(reader, p); q != p) return q;
  if (is_prefix) {
    if (const char* q = reader.skip_all(next, unicode::kUpperish); q != next) return q;
  }
  return reader.skip_all(p, unicode::kUpperish);
}

// Scans o200k:
// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+C|
// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*C|\p{N}{1,D}|
// [ ]?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
// D is kMaxDigits. C is (?i:'s|'t|'re|'ve|'m|'ll|'d)? with kContractions, or nothing.
template <int kMaxDigits, bool kContractions>
void scan_o200k(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  ScanReader reader(text, base, pieces);
  for (const char* p = reader.begin; p < reader.end;) {
    const char* start = p;
    const ClassAt here = reader.at(p);
    const char* next = p + here.size;
    p = skip_o200k_word(reader, p);
    if (p != start) {
      if (kContractions && p < reader.end && *p == '\'') p = skip_contraction<true>(p, reader.end);
    } else if (here.char_class == kNumber) {
      p = next;
      for (int digits = 1; digits < kMaxDigits && reader.is(p, kNumber); ++digits)
        p += reader.at(p).size;
    } else if (here.char_class == kOther || (*p == ' ' && reader.is(next, kOther))) {
      p = reader.skip(next, kOther);
      while (p < reader.end && (ScanReader::is_newline(*p) || *p == '/')) ++p;
    } else {
      p = skip_spaces_and_lines(reader, p);
    }
    reader.push(start, p);
  }
}

}  // namespace

void scan_gpt2(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  ScanReader reader(text, base, pieces);
  for (const char* p = reader.begin; p < reader.end;) {
    const char* start = p;
    if (*p == '\'') p = skip_contraction<false>(p, reader.end);
    if (p == start) {
      const ClassAt here = reader.at(p);
      const char* next = p + here.size;
      if (here.char_class != kSpace) {
        p = reader.skip(next, here.char_class);
      } else if (*p == ' ' && next < reader.end && reader.at(next).char_class != kSpace) {
        p = reader.skip(next, reader.at(next).char_class);
      } else {
        p = reader.skip_spaces(p);
      }
    }
    reader.push(start, p);
  }
}

void scan_bert(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  const unicode::PropertyTable& table = unicode::properties();
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto offset = [&](const char* p) { return base + static_cast<uint32_t>(p - begin); };
  const char* word = begin;
  for (const char* p = begin; p < end;) {
    const Decoded d = unicode::decode(p, end);
    const uint32_t properties =
        table[d.code_point] & (unicode::kWhitespace | unicode::kPunctuation);
    if (properties != 0) {
      if (word < p) pieces.push_back({offset(word), offset(p)});
      word = p + d.size;
      if ((properties & unicode::kWhitespace) == 0) pieces.push_back({offset(p), offset(word)});
    }
    p += d.size;
  }
  if (word < end) pieces.push_back({offset(word), offset(end)});
}

void scan_whitespace(std::string_view text, uint32_t base, std::vector<Piece>& pieces) {
  const unicode::PropertyTable& table = unicode::properties();
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto offset = [&](const char* p) { return base + static_cast<uint32_t>(p - begin); };
  const char* start = begin;
  // The class of the last character: kWord, kWhitespace, or 0 for all other characters.
  uint32_t current = unicode::kWhitespace;
  for (const char* p = begin; p < end;) {
    const Decoded d = unicode::decode(p, end);
    uint32_t next = table[d.code_point] & (unicode::kWord | unicode::kWhitespace);
    if ((next & unicode::kWord) != 0) next = unicode::kWord;
    if (next != current) {
      if (current != unicode::kWhitespace) pieces.push_back({offset(start), offset(p)});
      start = p;
      current = next;
    }
    p += d.size;
  }
  if (start < end && current != unicode::kWhitespace)
    pieces.push_back({offset(start), offset(end)});
}

SplitScanner find_split_scanner(std::string_view regex) {
  struct Known {
    std::string_view regex;
    SplitScanner scanner;
  };
  static constexpr Known kKnown[] = {
      {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", scan_gpt2},
      {kQwen2Pattern, scan_cl100k<1>},
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       scan_cl100k<3>},
      {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       scan_o200k<3, true>},
      {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       scan_o200k<1, false>},
  };
  for (const Known& known : kKnown) {
    if (known.regex == regex) return known.scanner;
  }
  return nullptr;
}

}  // namespace encode
