// Compares the results of the float32 kernels of packed_product.h with products that are computed
// in float64. Some sizes are whole multiples of the kernels' blocks, and others are not.
#include "linear_problem.h"

namespace encode::kernels {
namespace {

class ExactLinear : public LinearKernels {};  // kernels as exact as float32 arithmetic
class Int8Linear : public LinearKernels {};   // kernels with int8 quantization
class FloatLinear : public LinearKernels {};  // all kernels for float32 numbers

constexpr auto kOneDigitTiles = LinearKernel::kOneDigitTiles;
constexpr auto kTwoDigitTiles = LinearKernel::kTwoDigitTiles;
constexpr auto kThreeDigitTiles = LinearKernel::kThreeDigitTiles;
constexpr auto kFloat32Vectors = LinearKernel::kFloat32Vectors;
constexpr auto kInt8Vectors = LinearKernel::kInt8Vectors;

INSTANTIATE_TEST_SUITE_P(Kernels, ExactLinear, testing::Values(kThreeDigitTiles, kFloat32Vectors),
                         param_name);
INSTANTIATE_TEST_SUITE_P(Kernels, Int8Linear, testing::Values(kOneDigitTiles, kInt8Vectors),
                         param_name);
INSTANTIATE_TEST_SUITE_P(Kernels, FloatLinear,
                         testing::Values(kOneDigitTiles, kTwoDigitTiles, kThreeDigitTiles,
                                         kFloat32Vectors, kInt8Vectors),
                         param_name);

// Returns the largest error. Each error is divided by the sum of the magnitudes of the bias, the
// products and the result.
double worst_error(const Problem<float>& problem, Epilogue epilogue, bool add) {
  double worst = 0;
  for_samples(problem, epilogue, add, [&](const Sample& s) {
    const double allowed = s.magnitude + std::abs(s.expected) + (add ? 1.0 : 0.0);
    worst = std::max(worst, std::abs(s.y - s.expected) / allowed);
  });
  return worst;
}

TEST_P(ExactLinear, IsAsGoodAsFloat32) {
  for (const Size& size : kSizes) {
    const Problem<float> problem = {size, GetParam()};
    EXPECT_LT(worst_error(problem, Epilogue::kNone, false), 0x1p-22)
        << size.rows << " x " << size.in_features << " x " << size.out_features;
  }
}

TEST(TwoDigitLinear, KeepsFifteenBitsOfARowsLargest) {
  if (!usable(kTwoDigitTiles)) GTEST_SKIP() << "this processor has no AMX";
  restart_values();
  double worst = 0;
  for (const Size& size : kSizes) {
    const Problem<float> problem = {size, kTwoDigitTiles};
    worst = std::max(worst, worst_error(problem, Epilogue::kNone, false));
  }
  EXPECT_LT(worst, 0x1p-14);
  EXPECT_GT(worst, 0x1p-22) << "three digits were used";
}

// With int8 quantization the error of an element is at most half a unit. The largest element of a
// row is 127 units.
TEST_P(Int8Linear, QuantizesRowsOfBoth) {
  const Problem<float> problem = {{65, 130, 70}, GetParam()};
  const auto largest = [](const std::vector<float>& values) {
    return *std::max_element(values.begin(), values.end(),
                             [](float a, float b) { return std::abs(a) < std::abs(b); });
  };
  const double x_error = std::abs(largest(problem.x)) / 254;
  const double w_error = std::abs(largest(problem.weight)) / 254;
  const std::vector<float> y = problem.run(Epilogue::kNone, false);
  double worst = 0;
  for (int64_t row = 0; row < 65; ++row) {
    for (int64_t column = 0; column < 70; ++column) {
      double bound = 1e-5;
      for (size_t k = 0; k < 130; ++k) {
        bound +=
            x_error * (std::abs(problem.weight[static_cast<size_t>(column) * 130 + k]) + w_error) +
            w_error * std::abs(problem.x[static_cast<size_t>(row) * 130 + k]);
      }
      const double error =
          std::abs(y[static_cast<size_t>(row * 70 + column)] - problem.exact(row, column).first);
      EXPECT_LT(error, bound);
      worst = std::max(worst, error);
    }
  }
  EXPECT_GT(worst, 1e-3) << "more digits were used";
}

// Returns the worst error if every second row has an outlier, so that each tile has rows with and
// without an outlier. The weights of the outlier are zero, so only the precision of the other
// elements counts.
template <typename Outlier>
double error_beside_outliers(LinearKernel kernel, const Outlier& outlier) {
  Problem<float> problem = {{600, 384, 48}, kernel};
  for (size_t row = 0; row < 600; row += 2) {
    float& x = problem.x[row * 384 + 5];
    x = outlier(x);
  }
  for (size_t column = 0; column < 48; ++column) problem.weight[column * 384 + 5] = 0;
  return worst_error(problem, Epilogue::kNone, false);
}

TEST_P(ExactLinear, AnOutlierDoesNotSpoilItsRow) {
  EXPECT_LT(error_beside_outliers(GetParam(), [](float x) { return x * 1000; }), 0x1p-21);
}

// 60 is about 63 times the mean magnitude of its row. Above 64 times, the row has four digits.
TEST_P(ExactLinear, AnOutlierBelowTheFourthDigitTakesTwoBitsMore) {
  const double error = GetParam() == kFloat32Vectors ? 0x1p-22 : 0x1p-19;
  EXPECT_LT(error_beside_outliers(GetParam(), [](float) { return 60.0F; }), error);
}

TEST_P(ExactLinear, RowsOfAnySizeKeepTheirDigits) {
  Problem<float> problem = {{6, 100, 40}, GetParam()};
  problem.bias.assign(40, 0.0F);
  const std::vector<float> plain = problem.run(Epilogue::kNone, false);
  const std::vector<float> factors = {0, 0x1p-90F, 0x1p-40F, 0x1p+40F, 0x1p+90F, 1};
  for (size_t i = 0; i < problem.x.size(); ++i) problem.x[i] *= factors[i / 100];
  const std::vector<float> y = problem.run(Epilogue::kNone, false);
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y[i], plain[i] * factors[i / 40], 1e-5 * factors[i / 40]) << i;
}

// The sums are as large as possible, because each digit of 1.0 has its largest value here.
TEST_P(FloatLinear, TheWidestSumsFit) {
  constexpr int64_t kWidest = PackedWeight::kMaxInFeatures;
  Problem<float> problem = {{17, kWidest, 3}, GetParam()};
  problem.x.assign(problem.x.size(), 1.0F);
  problem.weight.assign(problem.weight.size(), 1.0F);
  problem.bias.assign(problem.bias.size(), 0.0F);
  // With two digits the product of the second digits is left out.
  const double left_out = GetParam() == kTwoDigitTiles ? std::pow(double{0x7F} / 0x7F7F, 2) : 0;
  for (const float y : problem.run(Epilogue::kNone, false))
    EXPECT_NEAR(y, static_cast<double>(kWidest) * (1 - left_out), 1e-2);
}

TEST_P(ExactLinear, EveryEpilogueIsItsFormula) {
  for (const Epilogue epilogue : kActivations) {
    for (const Size& size : {Size{40, 3, 50}, Size{33, 64, 17}}) {
      const Problem<float> problem = {size, GetParam()};
      EXPECT_LT(worst_error(problem, epilogue, false), 4e-7) << static_cast<int>(epilogue);
    }
  }
}

TEST_P(ExactLinear, TheResidualIsAdded) {
  const Problem<float> problem = {{45, 64, 33}, GetParam()};
  EXPECT_LT(worst_error(problem, Epilogue::kNone, true), 0x1p-21);
}

// The expected value is the formula applied to the result of the same product without an
// activation.
TEST_P(Int8Linear, EveryEpilogueIsItsFormula) {
  const Problem<float> problem = {{40, 3, 50}, GetParam()};
  const std::vector<float> sums = problem.run(Epilogue::kNone, false);
  for (const Epilogue epilogue : kActivations) {
    const std::vector<float> y = problem.run(epilogue, false);
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], activated(epilogue, sums[i]), 4e-6 * (1 + std::abs(sums[i]))) << i;
  }
}

TEST_P(FloatLinear, ARowsBitsDoNotDependOnTheOthers) { expect_rows_alone<float>(GetParam()); }

TEST_P(FloatLinear, WhatIsNotFiniteStaysInItsRow) {
  expect_not_finite<float>(GetParam(), GetParam() == kFloat32Vectors);
}

}  // namespace
}  // namespace encode::kernels
