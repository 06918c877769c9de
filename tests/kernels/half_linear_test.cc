// Compares the kernels of packed_product.h for 16-bit numbers with float64. Some sizes fill the
// blocks of the kernels and others do not.
#include "linear_problem.h"

namespace encode::kernels {
namespace {

class HalfLinear : public LinearKernels {
 protected:
  // Calls body(T{}) with the type of the numbers of the kernel.
  template <typename Body>
  static void with_type(const Body& body) {
    if (GetParam() == LinearKernel::kFloat16Vectors) return body(Float16{});
    body(BFloat16{});
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, HalfLinear,
                         testing::Values(LinearKernel::kBFloat16Tiles,
                                         LinearKernel::kBFloat16Vectors,
                                         LinearKernel::kFloat16Vectors),
                         param_name);

// The precision of a type:
// - kBits: the bits after the binary point;
// - kLowest: the exponent of the smallest normal number;
// - kFormula: the largest error of the formula of an activation, relative to 1 + |x|.
template <typename T>
struct Precision {
  static constexpr int kBits = 7;
  static constexpr int kLowest = -126;
  static constexpr double kFormula = 4e-6;
};
template <>
struct Precision<Float16> {
  static constexpr int kBits = 10;
  static constexpr int kLowest = -14;
  static constexpr double kFormula = 4e-7;
};

// Expects an error of at most half a unit in the last place, in addition to the errors of the sum
// and of the formula of the activation.
template <typename T>
void expect_rounded_once(const Problem<T>& problem, Epilogue epilogue, bool add) {
  using P = Precision<T>;
  for_samples(problem, epilogue, add, [epilogue](const Sample& s) {
    const int exponent =
        s.expected == 0 ? P::kLowest : std::max(std::ilogb(s.expected), P::kLowest);
    const double half_unit = std::ldexp(1, exponent - P::kBits - 1);
    const double formula = epilogue == Epilogue::kNone ? 0 : P::kFormula * (1 + std::abs(s.sum));
    EXPECT_NEAR(s.y, s.expected, half_unit + formula + 0x1p-20 * s.magnitude)
        << "epilogue " << static_cast<int>(epilogue);
  });
}

TEST_P(HalfLinear, IsRoundedOnceAtTheEnd) {
  with_type([](auto type) {
    for (const Size& size : kSizes) {
      expect_rounded_once(Problem<decltype(type)>{.size = size, .kernel = GetParam()},
                          Epilogue::kNone, false);
    }
  });
}

TEST_P(HalfLinear, EveryEpilogueIsItsFormula) {
  with_type([](auto type) {
    for (const Epilogue epilogue : kActivations) {
      expect_rounded_once(Problem<decltype(type)>{.size = {40, 3, 50}, .kernel = GetParam()},
                          epilogue, false);
    }
  });
}

TEST_P(HalfLinear, TheResidualIsAdded) {
  with_type([](auto type) {
    expect_rounded_once(Problem<decltype(type)>{.size = {45, 64, 33}, .kernel = GetParam()},
                        Epilogue::kNone, true);
  });
}

// 1 + half a unit is halfway between 1 and the next number, and rounds to 1, which is even. 1 + one
// and a half units also rounds to an even number. In the third column a tiny residual moves the sum
// above the tie; this works only if the sum is not rounded before the residual is added.
TEST_P(HalfLinear, ATieGoesToTheEvenNumber) {
  with_type([](auto type) {
    using T = decltype(type);
    const float unit = std::ldexp(1.0F, -Precision<T>::kBits);
    Problem<T> problem = {.size = {1, 1, 3}, .kernel = GetParam()};
    problem.x = stored<T>({1});
    problem.weight = stored<T>({1, 1, 1});
    problem.bias = {0.5F * unit, 1.5F * unit, 0.5F * unit};
    problem.residual = stored<T>({0, 0, 0x1p-14F});
    EXPECT_EQ(widened(problem.run(Epilogue::kNone, true)),
              (std::vector<float>{1, 1 + 2 * unit, 1 + unit}));
  });
}

TEST_P(HalfLinear, ARowsBitsDoNotDependOnTheOthers) {
  with_type([](auto type) { expect_rows_alone<decltype(type)>(GetParam()); });
}

TEST_P(HalfLinear, WhatIsNotFiniteStaysInItsRow) {
  with_type([](auto type) { expect_not_finite<decltype(type)>(GetParam(), true); });
}

TEST_P(HalfLinear, WeightsTakeTwoBytesEach) {
  const PackedWeight weight = {
      .kernel = GetParam(), .out_features = 96, .in_features = 64, .data = nullptr};
  EXPECT_EQ(weight.packed_bytes(), 2 * 96 * 64);
}

// An infinite result is no error here, because a job encodes the row again in float32.
TEST(Float16Linear, WhatIsTooLargeIsInfinite) {
  if (!usable(LinearKernel::kFloat16Vectors)) GTEST_SKIP() << "this processor has no AVX2";
  Problem<Float16> problem = {.size = {1, 2, 1}, .kernel = LinearKernel::kFloat16Vectors};
  problem.x = stored<Float16>({60000, 60000});
  problem.weight = stored<Float16>({1, 1});
  problem.bias = {0};
  EXPECT_EQ(widened(problem.run(Epilogue::kNone, false)).front(), INFINITY);
}

TEST(Float16Linear, KeepsSubnormalNumbers) {
  if (!usable(LinearKernel::kFloat16Vectors)) GTEST_SKIP() << "this processor has no AVX2";
  Problem<Float16> problem = {.size = {1, 1, 1}, .kernel = LinearKernel::kFloat16Vectors};
  problem.x = stored<Float16>({0x1p-24F});
  problem.weight = stored<Float16>({3});
  problem.bias = {0};
  EXPECT_EQ(widened(problem.run(Epilogue::kNone, false)).front(), 3 * 0x1p-24F);
}

}  // namespace
}  // namespace encode::kernels
