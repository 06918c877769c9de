// Products on AMX tiles against float64, at sizes that fill tiles and sizes that do not.
#include "kernels/amx.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace encode::kernels {
namespace {

struct Size {
  int64_t rows;
  int64_t in_features;
  int64_t out_features;
};

// The last two: a row more than there are in a panel.
const std::vector<Size> kSizes = {{1, 1, 1},      {2, 31, 17},   {16, 32, 32},   {33, 33, 33},
                                  {31, 64, 15},   {129, 40, 1},  {130, 384, 70}, {257, 100, 48},
                                  {513, 100, 48}, {129, 2600, 9}};

class TileMemory {
 public:
  explicit TileMemory(int64_t bytes)
      : data_(static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kAlignment))) {}
  std::byte* get() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

std::vector<float> random_values(int64_t n) {
  static std::mt19937 generator(11);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(n));
  for (float& x : values) x = normal(generator);
  return values;
}

template <typename T>
std::vector<T> stored(const std::vector<float>& values) {
  std::vector<T> to(values.size());
  kernels().rows<T>().scale(values.data(), static_cast<int64_t>(values.size()), 1, to.data());
  return to;
}

template <typename T>
std::vector<float> widened(const std::vector<T>& values) {
  std::vector<float> to(values.size());
  kernels().rows<T>().widen(values.data(), static_cast<int64_t>(values.size()), to.data());
  return to;
}

// One product with everything that belongs to it.
template <typename T>
struct Problem {
  Size size;
  amx::Operands operands;
  std::vector<T> x = stored<T>(random_values(size.rows * size.in_features));
  std::vector<T> weight = stored<T>(random_values(size.in_features * size.out_features));
  std::vector<float> bias = random_values(size.out_features);
  std::vector<T> residual = stored<T>(random_values(size.rows * size.out_features));

  std::vector<T> run(amx::Epilogue epilogue, bool add) const {
    amx::PackedWeight packed = {.operands = operands,
                                .out_features = size.out_features,
                                .in_features = size.in_features,
                                .data = nullptr};
    const TileMemory memory(packed.packed_bytes());
    const int64_t middle = packed.column_blocks() / 2;
    amx::pack(weight.data(), packed, {middle, packed.column_blocks()}, memory.get());
    amx::pack(weight.data(), packed, {0, middle}, memory.get());
    packed.data = memory.get();
    const TileMemory scratch(amx::scratch_bytes(packed));
    std::vector<T> y(residual.size());
    amx::linear(packed,
                amx::Linear<T>{.x = x.data(),
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

double activated(amx::Epilogue epilogue, double x) {
  switch (epilogue) {
    case amx::Epilogue::kGelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case amx::Epilogue::kGeluTanh:
      return x * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case amx::Epilogue::kRelu:
      return std::max(x, 0.0);
    case amx::Epilogue::kSilu:
      return x / (1 + std::exp(-x));
    case amx::Epilogue::kNone:
      break;
  }
  return x;
}

class Amx : public testing::Test {
 protected:
  void SetUp() override {
    if (!amx::available()) GTEST_SKIP() << "this processor or kernel has no AMX-BF16";
  }
};

// The largest error as a share of what the terms' magnitudes allow.
template <typename T>
double worst_error(const Problem<T>& problem, amx::Epilogue epilogue, bool add) {
  const auto y = widened(problem.run(epilogue, add));
  const auto residual = widened(problem.residual);
  const int64_t step = std::max<int64_t>(1, problem.size.rows / 7);
  double worst = 0;
  for (int64_t row = 0; row < problem.size.rows; row += step) {
    for (int64_t column = 0; column < problem.size.out_features; column += 3) {
      const auto at = static_cast<size_t>(row * problem.size.out_features + column);
      const auto [sum, magnitude] = problem.exact(row, column);
      const double expected = activated(epilogue, sum) + (add ? residual[at] : 0);
      worst = std::max(
          worst, std::abs(y[at] - expected) / (magnitude + std::abs(expected) + (add ? 1.0 : 0.0)));
    }
  }
  return worst;
}

TEST_F(Amx, ThreeDigitsAreAsGoodAsFloat32) {
  for (const Size& size : kSizes) {
    const Problem<float> problem = {size, amx::Operands::kThreeDigits};
    EXPECT_LT(worst_error(problem, amx::Epilogue::kNone, false), 0x1p-22)
        << size.rows << " x " << size.in_features << " x " << size.out_features;
  }
}

TEST_F(Amx, TwoDigitsKeepFifteenBitsOfARowsLargest) {
  double worst = 0;
  for (const Size& size : kSizes) {
    const Problem<float> problem = {size, amx::Operands::kTwoDigits};
    worst = std::max(worst, worst_error(problem, amx::Epilogue::kNone, false));
  }
  EXPECT_LT(worst, 0x1p-14);
  EXPECT_GT(worst, 0x1p-22) << "three digits were used";
}

// Int8 quantization: an element is off by half a unit in 127 of its row's largest at most.
TEST_F(Amx, OneDigitIsInt8) {
  const Problem<float> problem = {{65, 130, 70}, amx::Operands::kOneDigit};
  const auto largest = [](const std::vector<float>& values) {
    return *std::max_element(values.begin(), values.end(),
                             [](float a, float b) { return std::abs(a) < std::abs(b); });
  };
  const double x_error = std::abs(largest(problem.x)) / 254;
  const double w_error = std::abs(largest(problem.weight)) / 254;
  const std::vector<float> y = problem.run(amx::Epilogue::kNone, false);
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
TEST_F(Amx, AnOutlierDoesNotSpoilItsRow) {
  Problem<float> problem = {{600, 384, 48}, amx::Operands::kThreeDigits};
  for (size_t row = 0; row < 600; row += 2) problem.x[row * 384 + 5] *= 1000;
  for (size_t column = 0; column < 48; ++column) problem.weight[column * 384 + 5] = 0;
  EXPECT_LT(worst_error(problem, amx::Epilogue::kNone, false), 0x1p-21);
}

TEST_F(Amx, RowsOfAnySizeKeepTheirDigits) {
  Problem<float> problem = {{6, 100, 40}, amx::Operands::kThreeDigits};
  problem.bias.assign(40, 0.0F);
  const std::vector<float> plain = problem.run(amx::Epilogue::kNone, false);
  const std::vector<float> factors = {0, 0x1p-90F, 0x1p-40F, 0x1p+40F, 0x1p+90F, 1};
  for (size_t i = 0; i < problem.x.size(); ++i) problem.x[i] *= factors[i / 100];
  const std::vector<float> y = problem.run(amx::Epilogue::kNone, false);
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y[i], plain[i] * factors[i / 40], 1e-5 * factors[i / 40]) << i;
}

// Every digit of a one is as large as it can be.
TEST_F(Amx, TheWidestSumsFitTheirTiles) {
  constexpr int64_t kWidest = amx::PackedWeight::kMaxInFeatures;
  for (const auto operands : {amx::Operands::kOneDigit, amx::Operands::kThreeDigits}) {
    Problem<float> problem = {{17, kWidest, 3}, operands};
    problem.x.assign(problem.x.size(), 1.0F);
    problem.weight.assign(problem.weight.size(), 1.0F);
    problem.bias.assign(problem.bias.size(), 0.0F);
    for (const float y : problem.run(amx::Epilogue::kNone, false))
      EXPECT_NEAR(y, static_cast<double>(kWidest), 1e-2);
  }
}

TEST_F(Amx, BFloat16IsRoundedOnceAtTheEnd) {
  for (const Size& size : kSizes) {
    const Problem<BFloat16> problem = {size, amx::Operands::kBFloat16};
    EXPECT_LT(worst_error(problem, amx::Epilogue::kNone, false), 0x1p-8) << size.rows;
  }
}

TEST_F(Amx, EveryEpilogueIsItsFormula) {
  for (const amx::Epilogue epilogue : {amx::Epilogue::kGelu, amx::Epilogue::kGeluTanh,
                                       amx::Epilogue::kRelu, amx::Epilogue::kSilu}) {
    for (const Size& size : {Size{40, 3, 50}, Size{33, 64, 17}}) {
      const Problem<float> problem = {size, amx::Operands::kThreeDigits};
      EXPECT_LT(worst_error(problem, epilogue, false), 4e-7) << static_cast<int>(epilogue);
    }
  }
}

TEST_F(Amx, TheResidualIsAdded) {
  const Problem<float> problem = {{45, 64, 33}, amx::Operands::kThreeDigits};
  EXPECT_LT(worst_error(problem, amx::Epilogue::kNone, true), 0x1p-21);
}

TEST_F(Amx, ARowsBitsDoNotDependOnTheOthers) {
  const Problem<float> all = {{600, 70, 50}, amx::Operands::kThreeDigits};
  const std::vector<float> together = all.run(amx::Epilogue::kGelu, true);
  for (const int64_t row : {0, 15, 31, 32, 127, 128, 199, 511, 512, 599}) {
    Problem<float> alone = all;
    alone.size.rows = 1;
    alone.x.assign(all.x.begin() + row * 70, all.x.begin() + (row + 1) * 70);
    alone.residual.assign(all.residual.begin() + row * 50, all.residual.begin() + (row + 1) * 50);
    const std::vector<float> got = alone.run(amx::Epilogue::kGelu, true);
    EXPECT_EQ(std::memcmp(got.data(), together.data() + row * 50, 50 * sizeof(float)), 0) << row;
  }
}

TEST_F(Amx, WhatIsNotFiniteStaysInItsRow) {
  Problem<float> problem = {{40, 50, 20}, amx::Operands::kThreeDigits};
  problem.x[3 * 50 + 7] = NAN;
  problem.x[4 * 50 + 8] = INFINITY;
  for (const amx::Epilogue epilogue :
       {amx::Epilogue::kNone, amx::Epilogue::kGelu, amx::Epilogue::kGeluTanh, amx::Epilogue::kRelu,
        amx::Epilogue::kSilu}) {
    const std::vector<float> y = problem.run(epilogue, false);
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(std::isfinite(y[i]), i / 20 != 3 && i / 20 != 4) << "row " << i / 20;
  }
}

// A tile of A may lie anywhere, B's rows lie in pairs.
TEST(AmxProducts, OfSmallMatricesAreThoseOfTheirRoundedElements) {
  if (!amx::available()) GTEST_SKIP() << "this processor has no AMX";
  const amx::TileSession tiles;
  for (const Product& p : {Product{16, 32, 32, 40, 32, 32}, Product{32, 96, 64, 70, 128, 100},
                           Product{48, 64, 320, 320, 64, 64}}) {
    const auto a = stored<BFloat16>(random_values(p.m * p.lda));
    const auto b = stored<BFloat16>(random_values(p.k * p.ldb));  // [k / 2][ldb][2]
    std::vector<float> c(static_cast<size_t>(p.m * p.ldc), -77);
    amx::multiply(p, a.data(), b.data(), c.data());
    const std::vector<float> left = widened(a);
    const std::vector<float> right = widened(b);
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          sum += static_cast<double>(left[static_cast<size_t>(i * p.lda + k)]) *
                 right[static_cast<size_t>(2 * (k / 2 * p.ldb + j) + k % 2)];
        }
        EXPECT_NEAR(c[static_cast<size_t>(i * p.ldc + j)], sum, 2e-5) << i << ' ' << j;
      }
      for (int64_t j = p.n; j < p.ldc; ++j)
        EXPECT_EQ(c[static_cast<size_t>(i * p.ldc + j)], -77) << "beyond the last column";
    }
  }
}

}  // namespace
}  // namespace encode::kernels
