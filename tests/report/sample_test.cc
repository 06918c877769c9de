#include "report/sample.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace encode {
namespace {

TEST(SampleRows, AreFixedDifferentAscendingAndSpread) {
  const std::vector<int64_t> rows = sample_rows(50'000'000, 2000);
  EXPECT_EQ(rows, sample_rows(50'000'000, 2000));
  ASSERT_EQ(rows.size(), 2000U);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
  EXPECT_LT(rows.front(), 1'000'000);
  EXPECT_GT(rows.back(), 49'000'000);
  EXPECT_LT(rows.back(), 50'000'000);
}

TEST(SampleRows, AreAllRowsOfASmallMatrix) {
  EXPECT_EQ(sample_rows(3, 2000), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(sample_rows(0, 2000).empty());
}

}  // namespace
}  // namespace encode
