#include "base/decimal.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace encode {
namespace {

constexpr std::string_view kDigits = "0123456789";
// Beyond this, exponents count as equal. No text has so many digits that they matter here.
constexpr int64_t kMostExponent = std::numeric_limits<int64_t>::max() / 4;

// Reads the exponent behind the 'e' of a number.
std::optional<int64_t> exponent_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of(kDigits) != std::string_view::npos)
    return std::nullopt;
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  value = problem == std::errc() ? std::min(value, kMostExponent) : kMostExponent;
  return negative ? -value : value;
}

}  // namespace

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal number;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "inf" || text == "infinity") {
    number.digits_ = "i";
    number.exponent_ = std::numeric_limits<int64_t>::max();
  } else {
    const size_t e = std::min(text.find_first_of("eE"), text.size());
    int64_t exponent = 0;
    if (e < text.size()) {
      const std::optional<int64_t> given = exponent_of(text.substr(e + 1));
      if (!given) return std::nullopt;
      exponent = *given;
    }
    const std::string_view mantissa = text.substr(0, e);
    const size_t point = std::min(mantissa.find('.'), mantissa.size());
    number.digits_ = mantissa.substr(0, point);
    if (point < mantissa.size()) number.digits_ += mantissa.substr(point + 1);
    if (number.digits_.empty() || number.digits_.find_first_not_of(kDigits) != std::string::npos)
      return std::nullopt;
    const size_t zeros = std::min(number.digits_.find_first_not_of('0'), number.digits_.size());
    number.digits_.erase(0, zeros);
    number.digits_.erase(number.digits_.find_last_not_of('0') + 1);
    number.exponent_ = exponent + static_cast<int64_t>(point) - static_cast<int64_t>(zeros);
  }
  if (number.digits_.empty()) {
    number.exponent_ = 0;
  } else {
    number.sign_ = negative ? -1 : 1;
  }
  return number;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (sign_ != other.sign_) return sign_ <=> other.sign_;
  std::strong_ordering size = exponent_ <=> other.exponent_;
  if (size == 0) size = digits_.compare(other.digits_) <=> 0;
  return sign_ < 0 ? 0 <=> size : size;
}

}  // namespace encode
