// Products on AMX tiles against float64, at sizes that fill tiles and sizes that do not.
#include "kernels/amx.h"

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

const std::vector<Size> kSizes = {{1, 1, 1},    {2, 31, 17},  {16, 32, 32},   {33, 33, 33},
                                  {31, 64, 15}, {129, 40, 1}, {130, 384, 70}, {257, 100, 48}};

class TileMemory {
 public:
  explicit TileMemory(int64_t elements)
      : data_(static_cast<BFloat16*>(
            ::operator new(static_cast<size_t>(elements) * sizeof(BFloat16), kAlignment))) {}
  BFloat16* get() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(BFloat16* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<BFloat16, Free> data_;
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
  amx::Parts parts;
  std::vector<T> x = stored<T>(random_values(size.rows * size.in_features));
  std::vector<T> weight = stored<T>(random_values(size.in_features * size.out_features));
  std::vector<float> bias = random_values(size.out_features);
  std::vector<T> residual = stored<T>(random_values(size.rows * size.out_features));

  std::vector<T> run(amx::Epilogue epilogue, bool add) const {
    amx::PackedWeight packed = {.parts = parts,
                                .out_features = size.out_features,
                                .in_features = size.in_features,
                                .data = nullptr};
    const TileMemory memory(packed.packed_size());
    const int64_t middle = packed.column_blocks() / 2;
    amx::pack(weight.data(), packed, {middle, packed.column_blocks()}, memory.get());
    amx::pack(weight.data(), packed, {0, middle}, memory.get());
    packed.data = memory.get();
    const TileMemory scratch(amx::scratch_size(packed));
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

TEST_F(Amx, ThreePartsAreAsGoodAsFloat32) {
  for (const Size& size : kSizes) {
    const Problem<float> problem = {size, amx::Parts::kThree};
    EXPECT_LT(worst_error(problem, amx::Epilogue::kNone, false), 0x1p-22)
        << size.rows << " x " << size.in_features << " x " << size.out_features;
  }
}

TEST_F(Amx, TwoPartsKeepSixteenBits) {
  double worst = 0;
  for (const Size& size : kSizes) {
    const Problem<float> problem = {size, amx::Parts::kTwo};
    worst = std::max(worst, worst_error(problem, amx::Epilogue::kNone, false));
  }
  EXPECT_LT(worst, 0x1p-16);
  EXPECT_GT(worst, 0x1p-22) << "three parts were used";
}

TEST_F(Amx, BFloat16IsRoundedOnceAtTheEnd) {
  for (const Size& size : kSizes) {
    const Problem<BFloat16> problem = {size, amx::Parts::kOne};
    EXPECT_LT(worst_error(problem, amx::Epilogue::kNone, false), 0x1p-8) << size.rows;
  }
}

TEST_F(Amx, EveryEpilogueIsItsFormula) {
  for (const amx::Epilogue epilogue : {amx::Epilogue::kGelu, amx::Epilogue::kGeluTanh,
                                       amx::Epilogue::kRelu, amx::Epilogue::kSilu}) {
    for (const Size& size : {Size{40, 3, 50}, Size{33, 64, 17}}) {
      const Problem<float> problem = {size, amx::Parts::kThree};
      EXPECT_LT(worst_error(problem, epilogue, false), 4e-7) << static_cast<int>(epilogue);
    }
  }
}

TEST_F(Amx, TheResidualIsAdded) {
  const Problem<float> problem = {{45, 64, 33}, amx::Parts::kThree};
  EXPECT_LT(worst_error(problem, amx::Epilogue::kNone, true), 0x1p-21);
}

TEST_F(Amx, ARowsBitsDoNotDependOnTheOthers) {
  const Problem<float> all = {{200, 70, 50}, amx::Parts::kThree};
  const std::vector<float> together = all.run(amx::Epilogue::kGelu, true);
  for (const int64_t row : {0, 15, 31, 32, 127, 128, 199}) {
    Problem<float> alone = all;
    alone.size.rows = 1;
    alone.x.assign(all.x.begin() + row * 70, all.x.begin() + (row + 1) * 70);
    alone.residual.assign(all.residual.begin() + row * 50, all.residual.begin() + (row + 1) * 50);
    const std::vector<float> got = alone.run(amx::Epilogue::kGelu, true);
    EXPECT_EQ(std::memcmp(got.data(), together.data() + row * 50, 50 * sizeof(float)), 0) << row;
  }
}

TEST_F(Amx, ANotANumberStaysInItsRow) {
  Problem<float> problem = {{40, 50, 20}, amx::Parts::kThree};
  problem.x[3 * 50 + 7] = NAN;
  for (const amx::Epilogue epilogue :
       {amx::Epilogue::kNone, amx::Epilogue::kGelu, amx::Epilogue::kGeluTanh, amx::Epilogue::kRelu,
        amx::Epilogue::kSilu}) {
    const std::vector<float> y = problem.run(epilogue, false);
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(std::isnan(y[i]), i / 20 == 3) << "row " << i / 20;
  }
}

}  // namespace
}  // namespace encode::kernels
