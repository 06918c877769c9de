// Cuts the text of a WhereFilter into tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace encode {

struct FilterToken {
  enum class Kind { kWord, kField, kString, kNumber, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string text = {};  // of a field or a string: without quotes and escapes
  size_t begin = 0;       // the offset of its first byte

  bool symbol(std::string_view wanted) const { return kind == Kind::kSymbol && text == wanted; }
  bool word(std::string_view small_letters) const;  // in small or capital letters
};

// Throws the Error "config.filter". `found` is often filter_place().
[[noreturn]] void refuse_filter(std::string what, std::string expected, std::string found,
                                std::string hint);
// Returns the filter from a byte on, for a message.
std::string filter_place(std::string_view where, size_t byte);

// Not thread-safe.
class FilterLexer {
 public:
  explicit FilterLexer(std::string_view where) : where_(where) {}

  // Returns the next token; kEnd at the end. Throws the Error "config.filter" for a character that
  // begins no token, and for a token that cannot be read.
  FilterToken next();

 private:
  void read(FilterToken& token);
  void read_word(FilterToken& token);
  void read_pointer(FilterToken& token);
  void read_quoted_name(FilterToken& token);
  void read_number(FilterToken& token);
  void read_symbol(FilterToken& token);
  void read_string(char quote, FilterToken& token);
  char unescaped() const;

  std::string_view where_;
  size_t at_ = 0;
};

}  // namespace encode
