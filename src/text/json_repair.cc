#include "text/json_repair.h"

#include <algorithm>
#include <string_view>

namespace encode {
namespace {

// Returns the UTF-16 code unit of the escape "\uXXXX" at `at`, or -1 if there is no escape.
int escaped_unit(std::string_view json, size_t at) {
  if (at + 6 > json.size() || json[at] != '\\' || json[at + 1] != 'u') return -1;
  int unit = 0;
  for (size_t i = at + 2; i < at + 6; ++i) {
    const char c = json[i];
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

bool is_high_surrogate(int unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low_surrogate(int unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the offset after the closing quote of the string literal that opens at `at`.
size_t skip_string(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

}  // namespace

bool replace_lone_surrogate_escapes(std::string& json) {
  bool replaced = false;
  for (size_t at = json.find('\\'); at != std::string::npos; at = json.find('\\', at)) {
    const int unit = escaped_unit(json, at);
    if (is_high_surrogate(unit) && is_low_surrogate(escaped_unit(json, at + 6))) {
      at += 12;
    } else if (is_high_surrogate(unit) || is_low_surrogate(unit)) {
      json.replace(at, 6, "\\ufffd");
      replaced = true;
      at += 6;
    } else {
      at += 2;  // skips the backslash and the character that it escapes
    }
  }
  return replaced;
}

bool shorten_big_integers(std::string& json) {
  constexpr size_t kMaxDigits = 18;
  bool shortened = false;
  for (size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      at = skip_string(json, at);
      continue;
    }
    // The digits of a fraction or an exponent, and numbers with leading zeros, are not changed.
    const bool starts_integer =
        is_digit(json[at]) && json[at] != '0' &&
        (at == 0 || std::string_view(".eE+").find(json[at - 1]) == std::string_view::npos);
    const size_t begin = at;
    do {
      ++at;
    } while (at < json.size() && is_digit(json[at]) && is_digit(json[begin]));
    const bool ends_integer =
        at == json.size() || std::string_view(".eE").find(json[at]) == std::string_view::npos;
    if (starts_integer && ends_integer && at - begin > kMaxDigits) {
      std::fill(json.begin() + static_cast<std::ptrdiff_t>(begin + kMaxDigits),
                json.begin() + static_cast<std::ptrdiff_t>(at), ' ');
      shortened = true;
    }
  }
  return shortened;
}

}  // namespace encode
