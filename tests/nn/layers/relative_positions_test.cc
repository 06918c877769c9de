// Compares buckets and slopes with the values of the papers and of the authors' code.
#include "nn/layers/relative_positions.h"

#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

// Returns the column for a distance, which is the key's position minus the query's.
int32_t column(const std::vector<int32_t>& columns, int64_t distance) {
  return columns[static_cast<size_t>(distance + static_cast<int64_t>(columns.size() / 2))];
}

TEST(BucketBias, IsT5sTableOf32Buckets) {
  const RelativePositions relative = bucket_bias(at::arange(64, at::kFloat).view({32, 2}), 128);
  ASSERT_EQ(relative.column.size(), 257U);
  for (const auto& [distance, bucket] : {std::pair{0, 0},
                                         {-1, 1},
                                         {-7, 7},
                                         {-8, 8},
                                         {-15, 9},
                                         {-20, 10},
                                         {-60, 13},
                                         {-128, 15},
                                         {1, 17},
                                         {7, 23},
                                         {8, 24},
                                         {20, 26},
                                         {128, 31}}) {
    EXPECT_EQ(column(relative.column, distance), bucket) << "distance " << distance;
  }
  EXPECT_EQ(relative.bias[1][3].item<float>(), 7) << "head 1 of bucket 3";
}

TEST(AlibiBias, HasTheAuthorsSlopes) {
  // The first four of six heads have the slopes for four heads. The other two have the first and
  // the third slope for eight heads.
  const RelativePositions relative = alibi_bias(6, 10, at::kCPU);
  const double powers[] = {-2, -4, -6, -8, -1, -3};
  for (int64_t head = 0; head < 6; ++head) {
    for (const int64_t distance : {-9, -1, 0, 4}) {
      EXPECT_EQ(
          relative.bias[head][column(relative.column, distance)].item<float>(),
          static_cast<float>(-std::exp2(powers[head]) * std::abs(static_cast<double>(distance))));
    }
  }
}

TEST(SignedAlibiBias, IsAlibiBeforeTheQueryAndItsNegativeAfterIt) {
  const RelativePositions both = alibi_bias(6, 10, at::kCPU);
  const RelativePositions with_sign = signed_alibi_bias(6, 10, at::kCPU);
  for (int64_t head = 0; head < 6; ++head) {
    for (const int64_t distance : {-9, -1, 0, 1, 9}) {
      const float lowered = both.bias[head][column(both.column, distance)].item<float>();
      EXPECT_EQ(with_sign.bias[head][column(with_sign.column, distance)].item<float>(),
                distance <= 0 ? lowered : -lowered);
    }
  }
}

TEST(DisentangledColumns, AreExactNearbyAndLogarithmicFarAway) {
  const std::vector<int32_t> columns = disentangled_positions(8, 40, 40, at::kCPU).column;
  for (int64_t distance = -4; distance <= 4; ++distance)
    EXPECT_EQ(column(columns, distance), 8 - distance);
  EXPECT_EQ(column(columns, -39), 15);
  EXPECT_EQ(column(columns, 39), 1);
  for (int64_t distance = -38; distance <= 39; ++distance)
    EXPECT_LE(column(columns, distance), column(columns, distance - 1));
}

TEST(DisentangledColumns, HaveOneForEachDistanceWithoutBuckets) {
  const std::vector<int32_t> columns = disentangled_positions(8, 0, 20, at::kCPU).column;
  for (const int64_t distance : {-8, -7, 0, 5, 8})
    EXPECT_EQ(column(columns, distance), std::min<int64_t>(15, 8 - distance));
  EXPECT_EQ(column(columns, 19), 0) << "the distance must be clamped";
}

}  // namespace
}  // namespace encode
