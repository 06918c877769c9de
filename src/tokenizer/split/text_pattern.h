// The patterns of the pre-tokenizer Split and the normalizer Replace. A pattern is a literal
// string, a regular expression that has a scanner, or another regular expression, which PCRE2
// matches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

// A part of a text: bytes [begin, end).
struct Piece {
  uint32_t begin, end;
};

struct Match {
  uint32_t begin, end;  // byte offsets
  bool is_match;        // false: the text between two matches
};

// Patterns are immutable. Any number of threads may use one.
class TextPattern {
 public:
  virtual ~TextPattern() = default;
  // Appends the matches and the parts of `text` between them, in order. Together they cover `text`,
  // and none is empty. `base` is added to each offset. `text` is valid UTF-8. Thread-safe.
  // A regular expression throws Error kData "tokenizer.regex" if it needs too many steps.
  virtual void find_all(std::string_view text, uint32_t base,
                        std::vector<Match>& matches) const = 0;
  // Appends the same parts as pieces, without the distinction between matches and other text.
  virtual void isolate(std::string_view text, uint32_t base, std::vector<Piece>& pieces) const;
};

// `literal` must not be empty.
std::unique_ptr<TextPattern> make_literal_pattern(std::string literal);
// Throws Error (kConfig) if the pattern is not known to mean the same in PCRE2 as in Oniguruma, the
// library that defines these patterns. `where` names the place in the file. The code is
// "tokenizer.unsupported", or "tokenizer.format" for a malformed pattern.
std::unique_ptr<TextPattern> make_regex_pattern(const std::string& regex, const std::string& where);

}  // namespace encode
