// Decimal numbers that keep every digit of their text, for exact comparisons.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace encode {

// A decimal number of any size, or an infinity. It keeps all digits, so an integer beyond 2^53 is
// not rounded, and 0.1 is 0.1. Its memory is that of the text, whatever its exponent.
class Decimal {
 public:
  // Reads a number such as "-12", "0.50", ".5", "+3." or "1e-7", and "inf", "-inf", "infinity" in
  // small letters. Returns nullopt for any other text.
  static std::optional<Decimal> parse(std::string_view text);

  // 2.50 equals 2.5, and -0 equals 0.
  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal& other) const { return (*this <=> other) == 0; }

 private:
  // The absolute value is 0.DIGITS x 10^exponent. The first and the last digit are not 0; 0 has no
  // digits. An infinity has the digit "i", which is larger than any digit.
  int sign_ = 0;  // -1, 0 or 1
  int64_t exponent_ = 0;
  std::string digits_;
};

}  // namespace encode
