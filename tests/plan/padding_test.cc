// Tests what padding would cost.
#include <array>

#include <gtest/gtest.h>

#include "plan/text_survey.h"

namespace encode::testing {
namespace {

TEST(Padding, CountsThePositionsOfEachPolicy) {
  constexpr std::array<int32_t, 4> kRows = {1, 3, 2, 2};
  const PaddingCost cost = padding_cost(kRows, 2, 10);
  EXPECT_DOUBLE_EQ(cost.longest, (2 * 3 + 2 * 2) / 8.0);
  EXPECT_DOUBLE_EQ(cost.max_length, 40 / 8.0);
}

TEST(Padding, EqualRowsWasteNothing) {
  constexpr std::array<int32_t, 3> kRows = {5, 5, 5};
  EXPECT_DOUBLE_EQ(padding_cost(kRows, 2, 5).longest, 1);
  EXPECT_DOUBLE_EQ(padding_cost(kRows, 2, 5).max_length, 1);
}

}  // namespace
}  // namespace encode::testing
