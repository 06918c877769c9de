// Tests the words about rows without a text.
#include "base/empty_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(EmptyRows, OfWhiteSpaceHaveAtLeastOneByte) {
  EXPECT_TRUE(is_white_space(" \t\r\n\v\f"));
  for (const char* text : {"", "a", " a", "\xC2\xA0"}) EXPECT_FALSE(is_white_space(text)) << text;
}

TEST(EmptyRows, AreDescribedWithWhatToDo) {
  const EmptyRows both = {.empty = 1200, .blank = 1};
  EXPECT_EQ(describe(both), "1,200 rows have an empty text, and 1 row has only white space");
  EXPECT_THAT(empty_rows_advice(both), HasSubstr("--empty-row reject"));
  EXPECT_THAT(empty_rows_advice(both), HasSubstr("white space"));
  EXPECT_EQ(describe({.empty = 1}), "1 row has an empty text");
  EXPECT_EQ(describe({.blank = 2}), "2 rows have only white space");
  EXPECT_THAT(empty_rows_advice({.blank = 2}), Not(HasSubstr("--empty-row")))
      << "it keeps rows of white space";
  EXPECT_FALSE(EmptyRows{}.any());
}

}  // namespace
}  // namespace encode::testing
