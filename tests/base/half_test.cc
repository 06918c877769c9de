#include "base/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace encode {
namespace {

constexpr uint32_t kFinite = 0x7c00;  // the bits of infinity; all smaller magnitudes are finite

TEST(Half, EveryValueComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if ((bits & 0x7fffU) > kFinite) {
      EXPECT_TRUE(std::isnan(half_value(half)) &&
                  std::isnan(half_value(half_bits(half_value(half)))));
    } else {
      EXPECT_EQ(half_bits(half_value(half)), half);
    }
  }
}

// The middle between two half-precision numbers is rounded to the even number. The floats just
// below and above the middle are rounded to the nearer number.
TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t bits = 0; bits + 1 < kFinite; ++bits) {
    const float below = half_value(static_cast<uint16_t>(bits));
    const float above = half_value(static_cast<uint16_t>(bits + 1));
    const float middle = below + (above - below) / 2;
    ASSERT_EQ(half_bits(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(half_bits(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(half_bits(std::nextafter(middle, 1e6F)), bits + 1);
    ASSERT_EQ(half_bits(-middle), 0x8000U | half_bits(middle));
  }
}

TEST(Half, OverflowsWhereNumPyDoes) {
  EXPECT_EQ(half_value(half_bits(65504)), 65504);
  EXPECT_EQ(half_value(half_bits(65519.996F)), 65504);
  EXPECT_TRUE(std::isinf(half_value(half_bits(65520))));
  EXPECT_TRUE(std::isinf(half_value(half_bits(std::numeric_limits<float>::max()))));
}

}  // namespace
}  // namespace encode
