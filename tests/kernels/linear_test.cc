// The kernels of linear.h against float64, at sizes that fill their blocks and sizes that do not.
#include "kernels/linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "aligned_memory.h"
#include "values.h"

namespace encode::kernels {

// GoogleTest finds it by its name.
void PrintTo(LinearKernel kernel, std::ostream* to);

namespace {

struct Size {
  int64_t rows;
  int64_t in_features;
  int64_t out_features;
};

// Those of 129 and 513 rows: one more than there are in a panel.
const std::vector<Size> kSizes = {{1, 1, 1},     {2, 31, 17},    {16, 32, 32},   {33, 33, 33},
                                  {31, 64, 15},  {129, 40, 1},   {130, 384, 70}, {257, 100, 48},
                                  {513, 99, 48}, {513, 100, 48}, {129, 2600, 9}};

// One product with everything that belongs to it.
template <typename T>
struct Problem {
  Size size;
  LinearKernel kernel;
  std::vector<T> x = stored<T>(random_values(size.rows * size.in_features));
  std::vector<T> weight = stored<T>(random_values(size.in_features * size.out_features));
  std::vector<float> bias = random_values(size.out_features);
  std::vector<T> residual = stored<T>(random_values(size.rows * size.out_features));

  std::vector<T> run(Epilogue epilogue, bool add) const {
    PackedWeight packed = {.kernel = kernel,
                           .out_features = size.out_features,
                           .in_features = size.in_features,
                           .data = nullptr};
    const AlignedMemory memory(packed.packed_bytes());
    const int64_t middle = packed.column_blocks() / 2;
    pack(weight.data(), packed, {middle, packed.column_blocks()}, memory.get());
    pack(weight.data(), packed, {0, middle}, memory.get());
    packed.data = memory.get();
    const AlignedMemory scratch(scratch_bytes(packed));
    std::vector<T> y(residual.size());
    linear(packed,
           Linear<T>{.x = x.data(),
                     .bias = bias.data(),
                     .residual = add ? residual.data() : nullptr,
                     .y = y.data(),
                     .rows = size.rows,
                     .epilogue = epilogue},
           scratch.get());
    return y;
  }

  // The sum at (row, column), and the sum of its terms' magnitudes.
  std::pair<double, double> exact(int64_t row, int64_t column) const {
    double sum = bias[static_cast<size_t>(column)];
    double magnitude = std::abs(sum);
    const auto wide_x = widened(x);
    const auto wide_weight = widened(weight);
    for (int64_t k = 0; k < size.in_features; ++k) {
      const double term =
          static_cast<double>(wide_x[static_cast<size_t>(row * size.in_features + k)]) *
          wide_weight[static_cast<size_t>(column * size.in_features + k)];
      sum += term;
      magnitude += std::abs(term);
    }
    return {sum, magnitude};
  }
};

double activated(Epilogue epilogue, double x) {
  switch (epilogue) {
    case Epilogue::kGelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Epilogue::kGeluTanh:
      return x * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Epilogue::kRelu:
      return std::max(x, 0.0);
    case Epilogue::kSilu:
      return x / (1 + std::exp(-x));
    case Epilogue::kNone:
      break;
  }
  return x;
}

std::string name_of(LinearKernel kernel) {
  switch (kernel) {
    case LinearKernel::kBFloat16Tiles:
      return "BFloat16Tiles";
    case LinearKernel::kOneDigitTiles:
      return "OneDigitTiles";
    case LinearKernel::kTwoDigitTiles:
      return "TwoDigitTiles";
    case LinearKernel::kThreeDigitTiles:
      return "ThreeDigitTiles";
    case LinearKernel::kFloat32Vectors:
      return "Float32Vectors";
    case LinearKernel::kBFloat16Vectors:
      return "BFloat16Vectors";
    case LinearKernel::kInt8Vectors:
      return "Int8Vectors";
  }
  return "";
}

}  // namespace

void PrintTo(LinearKernel kernel, std::ostream* to) { *to << name_of(kernel); }

namespace {

class LinearKernels : public testing::TestWithParam<LinearKernel> {
 protected:
  void SetUp() override {
    restart_values();
    if (!usable(GetParam())) {
      GTEST_SKIP() << "this processor, held to " << to_string(capability()) << ", has no "
                   << name_of(GetParam());
    }
  }
};

// As good as float32 arithmetic; int8 quantization; bfloat16 operands; all that take float.
class ExactLinear : public LinearKernels {};
class Int8Linear : public LinearKernels {};
class BFloat16Linear : public LinearKernels {};
class FloatLinear : public LinearKernels {};

constexpr auto kOneDigitTiles = LinearKernel::kOneDigitTiles;
constexpr auto kTwoDigitTiles = LinearKernel::kTwoDigitTiles;
constexpr auto kThreeDigitTiles = LinearKernel::kThreeDigitTiles;
constexpr auto kFloat32Vectors = LinearKernel::kFloat32Vectors;
constexpr auto kInt8Vectors = LinearKernel::kInt8Vectors;

std::string param_name(const testing::TestParamInfo<LinearKernel>& info) {
  return name_of(info.param);
}
INSTANTIATE_TEST_SUITE_P(Kernels, ExactLinear, testing::Values(kThreeDigitTiles, kFloat32Vectors),
                         param_name);
INSTANTIATE_TEST_SUITE_P(Kernels, Int8Linear, testing::Values(kOneDigitTiles, kInt8Vectors),
                         param_name);
INSTANTIATE_TEST_SUITE_P(Kernels, BFloat16Linear,
                         testing::Values(LinearKernel::kBFloat16Tiles,
                                         LinearKernel::kBFloat16Vectors),
                         param_name);
INSTANTIATE_TEST_SUITE_P(Kernels, FloatLinear,
                         testing::Values(kOneDigitTiles, kTwoDigitTiles, kThreeDigitTiles,
                                         kFloat32Vectors, kInt8Vectors),
                         param_name);

struct Sample {
  double y;
  double expected;
  double sum;  // before the epilogue
  double magnitude;
};

// body(Sample) for some elements of the result.
template <typename T, typename Body>
void for_samples(const Problem<T>& problem, Epilogue epilogue, bool add, const Body& body) {
  const auto y = widened(problem.run(epilogue, add));
  const auto residual = widened(problem.residual);
  const int64_t step = std::max<int64_t>(1, problem.size.rows / 7);
  for (int64_t row = 0; row < problem.size.rows; row += step) {
    for (int64_t column = 0; column < problem.size.out_features; column += 3) {
      const auto at = static_cast<size_t>(row * problem.size.out_features + column);
      const auto [sum, magnitude] = problem.exact(row, column);
      body(Sample{.y = y[at],
                  .expected = activated(epilogue, sum) + (add ? residual[at] : 0),
                  .sum = sum,
                  .magnitude = magnitude});
    }
  }
}

// The largest error as a share of what the terms' magnitudes allow.
double worst_error(const Problem<float>& problem, Epilogue epilogue, bool add) {
  double worst = 0;
  for_samples(problem, epilogue, add, [&](const Sample& s) {
    const double allowed = s.magnitude + std::abs(s.expected) + (add ? 1.0 : 0.0);
    worst = std::max(worst, std::abs(s.y - s.expected) / allowed);
  });
  return worst;
}

constexpr Epilogue kActivations[] = {Epilogue::kGelu, Epilogue::kGeluTanh, Epilogue::kRelu,
                                     Epilogue::kSilu};

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

// Int8 quantization: an element is off by half a unit in 127 of its row's largest at most.
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

// In every second row, so that both kinds are in every tile's reach; with weights that take the
// outlier out of the result, only what is left of the other elements counts.
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

// The worst that three digits take, before there are four.
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

// Every digit of a one is as large as it can be.
TEST_P(FloatLinear, TheWidestSumsFit) {
  constexpr int64_t kWidest = PackedWeight::kMaxInFeatures;
  Problem<float> problem = {{17, kWidest, 3}, GetParam()};
  problem.x.assign(problem.x.size(), 1.0F);
  problem.weight.assign(problem.weight.size(), 1.0F);
  problem.bias.assign(problem.bias.size(), 0.0F);
  // Two digits leave the product of the second ones out.
  const double left_out = GetParam() == kTwoDigitTiles ? std::pow(double{0x7F} / 0x7F7F, 2) : 0;
  for (const float y : problem.run(Epilogue::kNone, false))
    EXPECT_NEAR(y, static_cast<double>(kWidest) * (1 - left_out), 1e-2);
}

// Half a unit in the last of eight bits, beside what sums and a short formula are off by.
void expect_rounded_once(const Problem<BFloat16>& problem, Epilogue epilogue, bool add) {
  for_samples(problem, epilogue, add, [epilogue](const Sample& s) {
    const double half_unit = s.expected == 0 ? 0 : std::ldexp(1, std::ilogb(s.expected) - 8);
    const double formula = epilogue == Epilogue::kNone ? 0 : 4e-6 * (1 + std::abs(s.sum));
    EXPECT_NEAR(s.y, s.expected, half_unit + formula + 0x1p-20 * s.magnitude)
        << "epilogue " << static_cast<int>(epilogue);
  });
}

TEST_P(BFloat16Linear, IsRoundedOnceAtTheEnd) {
  for (const Size& size : kSizes)
    expect_rounded_once({.size = size, .kernel = GetParam()}, Epilogue::kNone, false);
}

TEST_P(BFloat16Linear, EveryEpilogueIsItsFormula) {
  for (const Epilogue epilogue : kActivations)
    expect_rounded_once({.size = {40, 3, 50}, .kernel = GetParam()}, epilogue, false);
}

TEST_P(BFloat16Linear, TheResidualIsAdded) {
  expect_rounded_once({.size = {45, 64, 33}, .kernel = GetParam()}, Epilogue::kNone, true);
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

// Of what the same product gives without an activation.
TEST_P(Int8Linear, EveryEpilogueIsItsFormula) {
  const Problem<float> problem = {{40, 3, 50}, GetParam()};
  const std::vector<float> sums = problem.run(Epilogue::kNone, false);
  for (const Epilogue epilogue : kActivations) {
    const std::vector<float> y = problem.run(epilogue, false);
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], activated(epilogue, sums[i]), 4e-6 * (1 + std::abs(sums[i]))) << i;
  }
}

template <typename T>
void expect_rows_alone(LinearKernel kernel) {
  const Problem<T> all = {{600, 70, 50}, kernel};
  const std::vector<T> together = all.run(Epilogue::kGelu, true);
  for (const int64_t row : {0, 15, 31, 32, 127, 128, 199, 511, 512, 599}) {
    Problem<T> alone = all;
    alone.size.rows = 1;
    alone.x.assign(all.x.begin() + row * 70, all.x.begin() + (row + 1) * 70);
    alone.residual.assign(all.residual.begin() + row * 50, all.residual.begin() + (row + 1) * 50);
    const std::vector<T> got = alone.run(Epilogue::kGelu, true);
    EXPECT_EQ(std::memcmp(got.data(), together.data() + row * 50, 50 * sizeof(T)), 0) << row;
  }
}

TEST_P(FloatLinear, ARowsBitsDoNotDependOnTheOthers) { expect_rows_alone<float>(GetParam()); }
TEST_P(BFloat16Linear, ARowsBitsDoNotDependOnTheOthers) { expect_rows_alone<BFloat16>(GetParam()); }

// `sums_infinity`: where infinity goes through a sum, an activation may take it to a number.
template <typename T>
void expect_not_finite(LinearKernel kernel, bool sums_infinity) {
  Problem<T> problem = {{40, 50, 20}, kernel};
  const std::vector<T> special = stored<T>({NAN, INFINITY});
  problem.x[3 * 50 + 7] = special[0];
  problem.x[4 * 50 + 8] = special[1];
  for (const Epilogue epilogue :
       {Epilogue::kNone, Epilogue::kGelu, Epilogue::kGeluTanh, Epilogue::kRelu, Epilogue::kSilu}) {
    const std::vector<float> y = widened(problem.run(epilogue, false));
    for (size_t i = 0; i < y.size(); ++i) {
      if (i / 20 == 4 && sums_infinity && epilogue != Epilogue::kNone) continue;
      EXPECT_EQ(std::isfinite(y[i]), i / 20 != 3 && i / 20 != 4) << "row " << i / 20;
    }
  }
}

TEST_P(FloatLinear, WhatIsNotFiniteStaysInItsRow) {
  expect_not_finite<float>(GetParam(), GetParam() == kFloat32Vectors);
}
TEST_P(BFloat16Linear, WhatIsNotFiniteStaysInItsRow) {
  expect_not_finite<BFloat16>(GetParam(), true);
}

}  // namespace
}  // namespace encode::kernels
