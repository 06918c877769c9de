#include "base/non_finite.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace encode {
namespace {

using Limits = std::numeric_limits<float>;

// The lengths are around multiples of 16, because the search compares 16 values at once.
TEST(FindNonFinite, GivesTheFirstOneWhereverItStands) {
  for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    for (const size_t size : {1U, 15U, 16U, 17U, 50U}) {
      for (size_t at = 0; at < size; ++at) {
        std::vector<float> values(size, -1.0F);
        values[at] = bad;
        values.back() = bad;
        EXPECT_EQ(find_non_finite(values), at) << bad << " of " << size;
      }
    }
  }
}

TEST(FindNonFinite, TheLargestNumbersAreFinite) {
  std::vector<float> values(40, Limits::max());
  values[3] = Limits::lowest();
  values[39] = Limits::denorm_min();
  EXPECT_EQ(find_non_finite(values), std::nullopt);
  EXPECT_EQ(find_non_finite({}), std::nullopt);
}

}  // namespace
}  // namespace encode
