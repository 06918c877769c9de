// A matrix product for the tests of the kernels of packed_product.h, and its result in float64.
// values.h makes the numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "aligned_memory.h"
#include "kernels/packed_product.h"
#include "values.h"

namespace encode::kernels {

struct Size {
  int64_t rows;
  int64_t in_features;
  int64_t out_features;
};

// The numbers are rows, in_features and out_features. 129, 241 and 513 rows are more than a panel
// has. Rows of 2,048 and 2,600 numbers are multiplied in parts, and rows of 1,024 and 2,048 numbers
// are copied, because they would share one set of the first-level cache. Some sizes have more
// columns than one group, which fills the second-level cache.
inline const std::vector<Size> kSizes = {
    {1, 1, 1},      {2, 31, 17},     {16, 32, 32},    {33, 33, 33},   {31, 64, 15},
    {129, 40, 1},   {130, 384, 70},  {257, 100, 48},  {513, 99, 48},  {513, 100, 48},
    {129, 2600, 9}, {10, 2600, 140}, {14, 1024, 300}, {250, 2048, 33}};

// A matrix product with its operands.
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

  // Returns the sum at (row, column), and the sum of the magnitudes of the bias and the products.
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

inline double activated(Epilogue epilogue, double x) {
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

inline std::string name_of(LinearKernel kernel) {
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
    case LinearKernel::kFloat16Vectors:
      return "Float16Vectors";
    case LinearKernel::kInt8Vectors:
      return "Int8Vectors";
  }
  return "";
}

// GoogleTest calls this function to print a kernel.
inline void PrintTo(LinearKernel kernel, std::ostream* to) { *to << name_of(kernel); }

inline std::string param_name(const testing::TestParamInfo<LinearKernel>& info) {
  return name_of(info.param);
}

class LinearKernels : public testing::TestWithParam<LinearKernel> {
 protected:
  void SetUp() override {
    restart_values();
    if (!usable(GetParam())) {
      GTEST_SKIP() << "this processor, limited to " << to_string(capability())
                   << ", does not have the kernel " << name_of(GetParam());
    }
  }
};

struct Sample {
  double y;
  double expected;
  double sum;  // before the epilogue
  double magnitude;
};

// Calls body(Sample) for some elements of the result.
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

inline constexpr Epilogue kActivations[] = {Epilogue::kGelu, Epilogue::kGeluTanh, Epilogue::kRelu,
                                            Epilogue::kSilu};

// Expects that each row has the same bits when it is computed alone.
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

// Expects that a row with NaN or infinity has no finite result, and that all other rows are finite.
// If `sums_infinity` is true, a sum can be infinite, and an activation may turn infinity into a
// finite number.
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

}  // namespace encode::kernels
