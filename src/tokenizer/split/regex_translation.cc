#include "tokenizer/split/regex_translation.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/units.h"
#include "tokenizer/tokenizer_refusal.h"

namespace encode {
namespace {

// The property White_Space and its complement, for use in brackets. They replace \s and \S, because
// the \s of PCRE2 also contains U+180E.
constexpr std::string_view kSpaceSet =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";

constexpr std::array<std::string_view, 30> kCategories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl", "No", "P",
    "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl"};

// The only group without regard to case that real tokenizers use. Oniguruma and PCRE2 agree about
// it: the letters match in upper and lower case, and s also matches U+017F.
constexpr std::string_view kCaselessContractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
constexpr std::array<std::string_view, 7> kGroups = {
    "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "("};

class Translator {
 public:
  Translator(std::string_view regex, const std::string& where) : regex_(regex), where_(where) {}

  TranslatedRegex translate() {
    while (at_ < regex_.size()) {
      const char c = regex_[at_];
      if (c == '(') {
        group();
      } else if (c == '[') {
        brackets();
      } else if (c == '\\') {
        escape(false);
      } else if (c == '{' || c == '?' || c == '*' || c == '+') {
        quantifier();
      } else if (c == '^' || c == '$') {
        refuse("an anchor");
      } else {
        copy(1);  // a literal, or one of | ) .
      }
    }
    return {.pattern = std::move(out_), .origins = std::move(origins_)};
  }

 private:
  std::string_view rest() const { return regex_.substr(at_); }
  void copy(size_t size) {
    out_ += rest().substr(0, size);
    for (; size > 0; --size) origins_.push_back(at_++);
  }
  // Puts `text` in the place of an escape of two characters.
  void put(std::string_view text) {
    out_ += text;
    origins_.resize(out_.size(), at_);
    at_ += 2;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    refuse_unsupported(
        fmt::format("regular expression '{}' is not supported: {} at offset {}", preview(regex_),
                    what, at_),
        where_,
        {.expected = "a regular expression in the syntax that encode supports", .found = what});
  }

  void group() {
    if (rest().starts_with(kCaselessContractions)) return copy(kCaselessContractions.size());
    for (const std::string_view group : kGroups) {
      const bool plain = group.size() == 1;
      if (!rest().starts_with(group) || (plain && rest().starts_with("(?")) ||
          rest().starts_with("(*"))
        continue;
      return copy(group.size());
    }
    refuse("this kind of group");
  }

  // A quantifier is one of ? * + {n} {n,} {n,m}. A ? after it makes it lazy, and a + makes it
  // possessive. After {..} both are refused, because the two libraries disagree about the +.
  void quantifier() {
    if (regex_[at_] == '{') {
      const size_t close = regex_.find('}', at_);
      const std::string_view range =
          rest().substr(0, close == std::string_view::npos ? 0 : close + 1 - at_);
      const bool digits = range.size() > 2 && range[1] != ',' &&
                          range.substr(1, range.size() - 2).find_first_not_of("0123456789,") ==
                              std::string_view::npos;
      if (!digits || std::count(range.begin(), range.end(), ',') > 1) refuse("this use of '{'");
      copy(range.size());
      if (rest().starts_with('+') || rest().starts_with('?')) refuse("a quantifier after '{..}'");
      return;
    }
    copy(1);
    if (rest().starts_with('?') || rest().starts_with('+')) copy(1);
    if (rest().starts_with('?') || rest().starts_with('+') || rest().starts_with('*'))
      refuse("a nested quantifier");
  }

  void escape(bool in_brackets) {
    if (at_ + 1 >= regex_.size()) refuse("a lone backslash");
    const char c = regex_[at_ + 1];
    if (c == 's' || c == 'S') {
      const std::string_view set = c == 's' ? kSpaceSet : kNotSpace;
      put(in_brackets ? std::string(set) : fmt::format("[{}]", set));
    } else if (c == 'd') {
      put(R"(\p{Nd})");
    } else if (c == 'p' || c == 'P') {
      property();
    } else if (c == 'r' || c == 'n' || c == 't' ||
               std::string_view(R"(.-()[]{}|?*+^$\/'"#&~!@%=:;,<>_` )").find(c) !=
                   std::string_view::npos) {
      copy(2);
    } else {
      refuse(fmt::format("\\{}", preview({&c, 1})));
    }
  }

  void property() {
    const size_t close = regex_.find('}', at_);
    if (at_ + 2 >= regex_.size() || regex_[at_ + 2] != '{' || close == std::string_view::npos)
      refuse("this property");
    const std::string_view name = regex_.substr(at_ + 3, close - at_ - 3);
    if (std::find(kCategories.begin(), kCategories.end(), name) == kCategories.end()) {
      refuse(fmt::format("property '{}'", preview(name)));
    }
    copy(close + 1 - at_);
  }

  void brackets() {
    copy(1);
    if (rest().starts_with('^')) copy(1);
    if (rest().starts_with(']')) refuse("']' as the first character in brackets");
    while (at_ < regex_.size() && regex_[at_] != ']') {
      if (regex_[at_] == '[') refuse("'[' in brackets");
      if (rest().starts_with("&&")) refuse("'&&' in brackets");
      if (regex_[at_] == '\\') {
        escape(true);
      } else {
        copy(1);
      }
    }
    if (at_ == regex_.size()) refuse("'[' without ']'");
    copy(1);
  }

  std::string_view regex_;
  const std::string& where_;
  size_t at_ = 0;
  std::string out_;
  std::vector<size_t> origins_;
};

}  // namespace

TranslatedRegex translate_regex(std::string_view regex, const std::string& where) {
  return Translator(regex, where).translate();
}

}  // namespace encode
