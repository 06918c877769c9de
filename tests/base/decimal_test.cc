// Tests numbers that are compared as they are written.
#include "base/decimal.h"

#include <gtest/gtest.h>

namespace encode {
namespace {

Decimal number(std::string_view text) { return Decimal::parse(text).value(); }

TEST(Decimal, EqualNumbersAreEqualHoweverTheyAreWritten) {
  const char* const equal[][2] = {{"1", "1.0"},      {"1e3", "1000"},    {"-0", "0"},
                                  {"0e99", "0"},     {".5", "0.50"},     {"+3.", "3"},
                                  {"12e-1", "1.2"},  {"007", "7"},       {"1E+2", "100"},
                                  {"0.001", "1e-3"}, {"inf", "infinity"}};
  for (const auto& [a, b] : equal) EXPECT_EQ(number(a), number(b)) << a << " " << b;
}

TEST(Decimal, AreOrderedExactly) {
  const char* const ascending[] = {"-inf",
                                   "-1e400",
                                   "-9007199254740993",
                                   "-9007199254740992.5",
                                   "-9007199254740992",
                                   "-2",
                                   "-0.1",
                                   "-1e-400",
                                   "0",
                                   "1e-99999999999999999999",
                                   "1e-400",
                                   "0.1",
                                   "0.10000000000000001",
                                   "2",
                                   "10",
                                   "9007199254740992",
                                   "9007199254740993",
                                   "18446744073709551615",
                                   "18446744073709551616",
                                   "1e400",
                                   "1e99999999999999999999",
                                   "inf"};
  for (size_t i = 0; i < std::size(ascending); ++i) {
    for (size_t j = 0; j < std::size(ascending); ++j)
      EXPECT_EQ(number(ascending[i]) <=> number(ascending[j]), i <=> j)
          << ascending[i] << " " << ascending[j];
  }
}

TEST(Decimal, OtherTextsAreNoNumbers) {
  for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "1,5", " 1", "1 ",
                           "nan", "Inf", "--1", "1e5.5", "\xD9\xA1", "1_000", "1e--1"})
    EXPECT_FALSE(Decimal::parse(text)) << text;
}

}  // namespace
}  // namespace encode
