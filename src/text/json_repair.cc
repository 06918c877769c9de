#include "text/json_repair.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

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
bool is_one_of(std::string_view characters, char c) {
  return characters.find(c) != std::string_view::npos;
}

// Returns the offset after the closing quote of the string literal that opens at `at`.
size_t skip_string(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

// Returns the offset after the digits at `at`.
size_t skip_digits(std::string_view json, size_t at) {
  while (at < json.size() && is_digit(json[at])) ++at;
  return at;
}

// Returns the offset after the number that begins with the digit at `at`, or `at` if it is no
// number of JSON with a fraction or an exponent (RFC 8259, section 6). The sign is not part of it.
size_t skip_fractional_number(std::string_view json, size_t at) {
  const size_t begin = at;
  size_t end = skip_digits(json, at);
  if (json[at] == '0' && end != at + 1) return begin;
  at = end;
  if (at < json.size() && json[at] == '.') {
    end = skip_digits(json, at + 1);
    if (end == at + 1) return begin;
  }
  if (end < json.size() && (json[end] == 'e' || json[end] == 'E')) {
    size_t digits = end + 1;
    if (digits < json.size() && (json[digits] == '+' || json[digits] == '-')) ++digits;
    end = skip_digits(json, digits);
    if (end == digits) return begin;
  }
  return end == at ? begin : end;
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

bool fit_numbers(std::string& json) {
  constexpr size_t kMaxDigits = 18;
  constexpr std::string_view kHalf = "0.5";  // is shorter than every number that is replaced
  bool changed = false;
  const auto blank = [&](size_t begin, size_t end) {
    std::fill(json.begin() + static_cast<std::ptrdiff_t>(begin),
              json.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    changed = true;
  };
  for (size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      at = skip_string(json, at);
      continue;
    }
    if (!is_digit(json[at])) {
      ++at;
      continue;
    }
    if (const size_t end = skip_fractional_number(json, at); end > at) {
      double value = 0;
      if (end > at + kHalf.size() &&
          std::from_chars(json.data() + at, json.data() + end, value).ec != std::errc()) {
        blank(at, end);
        json.replace(at, kHalf.size(), kHalf);
      }
      at = end;
      continue;
    }
    // The digits of a malformed fraction or exponent, and numbers with leading zeros, are not
    // changed.
    const size_t end = skip_digits(json, at);
    const bool is_integer = json[at] != '0' && (at == 0 || !is_one_of(".eE+", json[at - 1])) &&
                            (end == json.size() || !is_one_of(".eE", json[end]));
    if (is_integer && end - at > kMaxDigits) blank(at + kMaxDigits, end);
    at = end;
  }
  return changed;
}

}  // namespace encode
