#include "base/where_filter_lexer.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "encode/error.h"

#include "base/decimal.h"
#include "base/units.h"
#include "base/utf8.h"

namespace encode {
namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_filter_digit(char c) { return c >= '0' && c <= '9'; }
bool is_filter_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

bool FilterToken::word(std::string_view small_letters) const {
  return kind == Kind::kWord && lower_case(text) == small_letters;
}

void refuse_filter(std::string what, std::string expected, std::string found, std::string hint) {
  throw Error({.code = "config.filter",
               .what = std::move(what),
               .where = "where",
               .expected = std::move(expected),
               .found = std::move(found),
               .hint = std::move(hint)});
}

std::string filter_place(std::string_view where, size_t byte) {
  if (byte >= where.size()) return "the end of the filter";
  constexpr size_t kShownBytes = 40;
  return fmt::format("'{}' at character {} of the filter", preview(where.substr(byte), kShownBytes),
                     count_characters(where.substr(0, byte)) + 1);
}

FilterToken FilterLexer::next() {
  while (at_ < where_.size() && is_filter_space(where_[at_])) ++at_;
  FilterToken token = {.begin = at_};
  if (at_ < where_.size()) read(token);
  return token;
}

void FilterLexer::read(FilterToken& token) {
  const char c = where_[at_];
  const char after = at_ + 1 < where_.size() ? where_[at_ + 1] : '\0';
  const bool sign = c == '-' || c == '+';
  if (c == '"' || c == '\'') return read_string(c, token);
  if (c == '`') return read_quoted_name(token);
  if (c == '/') return read_pointer(token);
  if (begins_name(c)) return read_word(token);
  if (is_filter_digit(c) || ((sign || c == '.') && (is_filter_digit(after) || after == '.')))
    return read_number(token);
  read_symbol(token);
}

void FilterLexer::read_word(FilterToken& token) {
  token.kind = FilterToken::Kind::kWord;
  while (at_ < where_.size() && (begins_name(where_[at_]) || is_filter_digit(where_[at_]))) ++at_;
  token.text = where_.substr(token.begin, at_ - token.begin);
  const char after = at_ < where_.size() ? where_[at_] : '\0';
  if (after != '.' && after != '-' && after != '$' && after != '@' && after != ':') return;
  refuse_filter("a name in the filter has a character that is no letter, digit or _",
                "a name such as lang, a JSON pointer such as /meta/lang, or a name in backticks",
                filter_place(where_, token.begin),
                fmt::format("put the name in backticks, as in `a{}b`{}", after,
                            after == '.' ? "; a field inside an object is /a/b" : ""));
}

void FilterLexer::read_pointer(FilterToken& token) {
  constexpr std::string_view kEnds = " \t\r\n()[],=<>!\"'`";
  token.kind = FilterToken::Kind::kField;
  at_ = std::min(where_.find_first_of(kEnds, at_), where_.size());
  token.text = where_.substr(token.begin, at_ - token.begin);
}

void FilterLexer::read_quoted_name(FilterToken& token) {
  token.kind = FilterToken::Kind::kField;
  const size_t close = where_.find('`', at_ + 1);
  if (close == std::string_view::npos)
    refuse_filter("a backtick of the filter is not closed", "a name between two backticks",
                  filter_place(where_, at_), "close it with `");
  token.text = where_.substr(at_ + 1, close - at_ - 1);
  if (token.text.empty())
    refuse_filter("a field of the filter has no name", "a name between two backticks",
                  filter_place(where_, at_), "write the name between the backticks");
  at_ = close + 1;
}

void FilterLexer::read_number(FilterToken& token) {
  token.kind = FilterToken::Kind::kNumber;
  ++at_;
  const auto belongs = [this](char c) {
    const char before = where_[at_ - 1];
    const bool exponent_sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
    return is_filter_digit(c) || begins_name(c) || c == '.' || exponent_sign;
  };
  while (at_ < where_.size() && belongs(where_[at_])) ++at_;
  token.text = where_.substr(token.begin, at_ - token.begin);
  if (!Decimal::parse(token.text))
    refuse_filter("a number of the filter cannot be read", "a number such as 20, -3, 0.5 or 1e6",
                  filter_place(where_, token.begin),
                  "a string needs quotes, and a name with other characters "
                  "needs backticks");
}

void FilterLexer::read_symbol(FilterToken& token) {
  token.kind = FilterToken::Kind::kSymbol;
  for (const std::string_view symbol :
       {"==", "!=", "<>", "<=", ">=", "<", ">", "=", "(", ")", "[", "]", ","}) {
    if (!where_.substr(at_).starts_with(symbol)) continue;
    token.text = symbol;
    at_ += symbol.size();
    return;
  }
  const char c = where_[at_];
  std::string hint = "put a name with this character in backticks, and a string in quotes";
  if (c == '&' || c == '|' || c == '!') hint = "write and, or, not, == and !=";
  if (c == '{') hint = "write the name of a field without braces";
  refuse_filter("the filter has an unknown character", "names, values and comparisons",
                filter_place(where_, at_), std::move(hint));
}

void FilterLexer::read_string(char quote, FilterToken& token) {
  token.kind = FilterToken::Kind::kString;
  for (++at_; at_ < where_.size() && where_[at_] != quote; ++at_) {
    if (where_[at_] == '\\') {
      ++at_;
      token.text += unescaped();
    } else {
      token.text += where_[at_];
    }
  }
  if (at_ >= where_.size())
    refuse_filter("a string of the filter is not closed", fmt::format("a closing {}", quote),
                  filter_place(where_, token.begin),
                  "close the quote; inside of a string, \\\" stands for \"");
  ++at_;
  if (at_ < where_.size() && where_[at_] == quote)
    refuse_filter("a string of the filter has a doubled quote", "one quote at each end",
                  filter_place(where_, token.begin),
                  fmt::format("write \\{} for a quote in the string", quote));
}

// Returns what the escape whose letter is at at_ stands for.
char FilterLexer::unescaped() const {
  const char c = at_ < where_.size() ? where_[at_] : '\0';
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case '\\':
    case '"':
    case '\'':
    case '/':
      return c;
    default:
      refuse_filter("a string of the filter has an unknown escape", R"(\\, \", \', \n, \r or \t)",
                    filter_place(where_, at_ - 1), R"(write \\ for a backslash)");
  }
}

}  // namespace encode
