#include "report/statistics.h"

#include <cmath>

#include <gtest/gtest.h>

namespace encode {
namespace {

// Points on an ellipse with the axes 3 and 1, turned by 30 degrees, about the mean (5, -2, 7). The
// variances along the axes are 9/2 and 1/2.
SampleMatrix ellipse() {
  constexpr int kPoints = 360;
  constexpr double kTurn = M_PI / 6;
  SampleMatrix points(kPoints, 3);
  for (int i = 0; i < kPoints; ++i) {
    const double angle = 2 * M_PI * i / kPoints;
    const double x = 3 * std::cos(angle);
    const double y = std::sin(angle);
    points(i, 0) = static_cast<float>(5 + x * std::cos(kTurn) - y * std::sin(kTurn));
    points(i, 1) = static_cast<float>(-2 + x * std::sin(kTurn) + y * std::cos(kTurn));
    points(i, 2) = 7;
  }
  return points;
}

TEST(Statistics, PrincipalComponentsOfAnEllipseAreItsAxes) {
  const Projection found = principal_components(ellipse());
  EXPECT_NEAR(found.shares[0], 0.9, 1e-5);
  EXPECT_NEAR(found.shares[1], 0.1, 1e-5);
  for (int i = 0; i < 360; ++i) {
    const double angle = 2 * M_PI * i / 360;
    EXPECT_NEAR(found.points(i, 0), 3 * std::cos(angle), 1e-5);
    EXPECT_NEAR(std::abs(found.points(i, 1)), std::abs(std::sin(angle)), 1e-5);
  }
}

TEST(Statistics, PrincipalComponentsOfHighDimensionsAreTheTwoWidestColumns) {
  // Column 7 has the values +-3, column 40 +-2, all others +-1, as columns of a Hadamard matrix, so
  // that no two columns are correlated.
  SampleMatrix sample(64, 63);
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 63; ++column) {
      const bool odd = __builtin_popcount(static_cast<unsigned>(row & (column + 1))) % 2 == 1;
      const float size = column == 7 ? 3.0F : column == 40 ? 2.0F : 1.0F;
      sample(row, column) = odd ? -size : size;
    }
  }
  const Projection found = principal_components(sample);
  EXPECT_NEAR(found.shares[0], 9.0 / (9 + 4 + 61), 1e-6);
  EXPECT_NEAR(found.shares[1], 4.0 / (9 + 4 + 61), 1e-6);
  for (int row = 0; row < 64; ++row) EXPECT_NEAR(found.points(row, 0), sample(row, 7), 1e-4);
}

TEST(Statistics, EqualRowsHaveNoComponents) {
  const Projection found = principal_components(SampleMatrix::Ones(5, 4));
  EXPECT_EQ(found.shares[0], 0);
  EXPECT_EQ(found.points.norm(), 0);
  EXPECT_EQ(principal_components(SampleMatrix::Ones(1, 4)).points.rows(), 1);
  EXPECT_EQ(principal_components(SampleMatrix(0, 4)).points.rows(), 0);
}

TEST(Statistics, MeanCosineOfKnownVectors) {
  SampleMatrix orthogonal = 5 * SampleMatrix::Identity(8, 8);
  EXPECT_NEAR(mean_pair_cosine(unit_rows(orthogonal)), 0, 1e-7);
  EXPECT_NEAR(mean_pair_cosine(unit_rows(SampleMatrix::Ones(8, 3))), 1, 1e-6);
  SampleMatrix opposite(2, 2);
  opposite << 2, 0, -3, 0;
  EXPECT_NEAR(mean_pair_cosine(unit_rows(opposite)), -1, 1e-7);
  SampleMatrix sixty(2, 2);
  sixty << 1, 0, 0.5F, static_cast<float>(std::sqrt(3) / 2);
  EXPECT_NEAR(mean_pair_cosine(unit_rows(sixty)), 0.5, 1e-7);
  for (const double cosine : pair_cosines(unit_rows(sixty), 10)) EXPECT_NEAR(cosine, 0.5, 1e-6);
  EXPECT_TRUE(pair_cosines(SampleMatrix::Ones(1, 2), 10).empty());
}

TEST(Statistics, NormsAndRowsOfZeros) {
  SampleMatrix sample(2, 2);
  sample << 3, 4, 0, 0;
  EXPECT_EQ(norms(sample), (std::vector<double>{5, 0}));
  EXPECT_EQ(unit_rows(sample).row(1).norm(), 0);
}

TEST(Statistics, NeighboursOfPointsOnACircleAreTheNextPoints) {
  constexpr int kPoints = 300;  // more than one block
  SampleMatrix circle(kPoints, 2);
  for (int i = 0; i < kPoints; ++i) {
    // The steps grow, so that the nearest point is always the one before.
    const double angle = 1e-5 * i * (i + 20);
    circle(i, 0) = static_cast<float>(std::cos(angle));
    circle(i, 1) = static_cast<float>(std::sin(angle));
  }
  const auto found = neighbours(unit_rows(circle), 3);
  ASSERT_EQ(found.size(), 300U);
  EXPECT_EQ(found[299].size(), 3U);
  EXPECT_EQ(found[299][0].row, 298);
  EXPECT_EQ(found[270][0].row, 269);
  EXPECT_GE(found[299][0].cosine, found[299][1].cosine);
  EXPECT_EQ(near_duplicate_share(found), 1);
}

TEST(Statistics, NearDuplicatesAreCounted) {
  SampleMatrix sample = SampleMatrix::Identity(8, 8);
  EXPECT_EQ(near_duplicate_share(neighbours(sample, 3)), 0);
  sample.row(1) = sample.row(0);
  EXPECT_EQ(near_duplicate_share(neighbours(sample, 3)), 0.25);
}

TEST(Statistics, QuantizationErrorOfAKnownDifference) {
  const SampleMatrix original = SampleMatrix::Identity(4, 4);
  SampleMatrix quantized = original;
  quantized(0, 1) = 1;
  const QuantizationError error = quantization_error(original, quantized);
  EXPECT_EQ(error.largest, 1);
  EXPECT_NEAR(error.root_mean, 0.25, 1e-7);
  EXPECT_NEAR(error.least_cosine, 1 / std::sqrt(2), 1e-6);
  EXPECT_NEAR(error.mean_cosine, (3 + 1 / std::sqrt(2)) / 4, 1e-6);
}

TEST(Statistics, HistogramCountsEveryValueOnce) {
  const Histogram bars = histogram({0, 1, 2, 3, 4}, 2);
  EXPECT_EQ(bars.counts, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(histogram({7, 7}, 3).counts, (std::vector<int64_t>{2, 0, 0}));
  EXPECT_TRUE(histogram({}, 3).counts.empty());
}

}  // namespace
}  // namespace encode
