// What Split and Replace look for: a literal string, a known split pattern with its own scanner, or
// any other regular expression through PCRE2.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace encode {

// A part of a text, [begin, end) in bytes.
struct Piece {
  uint32_t begin, end;
};

struct Match {
  uint32_t begin, end;  // bytes
  bool is_match;        // false: the text between two matches
};

class TextPattern {
 public:
  virtual ~TextPattern() = default;
  // Appends matches and the text between them: together they cover `text`, in order, none empty.
  // `base` is added to every offset. Thread-safe.
  virtual void find_all(std::string_view text, uint32_t base,
                        std::vector<Match>& matches) const = 0;
  // The same as pieces, matches and others alike.
  virtual void isolate(std::string_view text, uint32_t base, std::vector<Piece>& pieces) const;

  // True where no match reaches from an ASCII letter into the space, or U+2581, after it, and none
  // depends on what is beyond such a border.
  virtual bool is_local() const { return false; }
  // True where, besides, a match or the text between two matches always ends after a letter that a
  // space follows.
  virtual bool ends_at_space() const { return false; }
  virtual bool is_space() const { return false; }  // matches nothing but single spaces
};

std::unique_ptr<TextPattern> make_literal_pattern(
    std::string literal);  // `literal` must not be empty
// Throws Error (kConfig) for a pattern whose meaning is not known to be the same in PCRE2 and in
// Oniguruma, which defines these patterns. `where` names the place in the file.
std::unique_ptr<TextPattern> make_regex_pattern(const std::string& regex, const std::string& where);

}  // namespace encode
