// Compares the row kernels of all instruction sets that this processor has with float64.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "usable_kernels.h"
#include "values.h"

namespace encode::kernels {
namespace {

constexpr std::array<int64_t, 8> kSizes = {1, 2, 15, 16, 17, 33, 384, 1000};

std::vector<float> random_row(int64_t n, float spread = 1) {
  static std::mt19937 generator(7);
  std::normal_distribution<float> normal(0.25F, spread);
  std::vector<float> row(static_cast<size_t>(n));
  for (float& x : row) x = normal(generator);
  return row;
}

TEST(RowKernels, TheBestSetIsTheLast) {
#ifdef __aarch64__
  EXPECT_STREQ(usable_kernels().front()->instruction_set, "neon");
#else
  EXPECT_STREQ(usable_kernels().front()->instruction_set, "baseline");
#endif
  EXPECT_EQ(&kernels(), usable_kernels().back())
      << "ENCODE_CPU_CAPABILITY must not be set for this test";
  std::string names;
  for (const Kernels* set : usable_kernels()) {
    EXPECT_THAT(capabilities_in_words(), ::testing::HasSubstr(set->instruction_set))
        << "CMakeLists.txt and facts_of() name it differently";
    names.append(names.empty() ? "" : " ").append(set->instruction_set);
  }
  RecordProperty("instruction_sets", names);
}

TEST(RowKernels, ExpScoresIsAnUnnormalizedSoftmax) {
  for (const Kernels* set : usable_kernels()) {
    for (const int64_t n : kSizes) {
      const std::vector<float> scores = random_row(n, 30);
      std::vector<float> got(scores.size());
      constexpr float kScale = 0.25;  // exact, so that only the subtraction of `top` rounds
      const float sum = set->exp_scores(scores.data(), n, kScale, got.data());
      const float top = kScale * *std::max_element(scores.begin(), scores.end());
      double expected_sum = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        const double expected = std::exp(static_cast<double>(kScale * scores[i] - top));
        expected_sum += expected;
        EXPECT_NEAR(got[i], expected, 2.5e-7 * expected + 2e-38) << set->instruction_set;
      }
      EXPECT_NEAR(sum, expected_sum, 1e-6 * expected_sum) << set->instruction_set << " n " << n;
    }
  }
}

// Checks a sum over the elements of two rows against the sum in float64.
void expect_sum(const std::function<float(const float*, const float*, int64_t)>& sum,
                const std::function<double(double, double)>& term) {
  for (const int64_t n : kSizes) {
    const std::vector<float> a = random_row(n);
    const std::vector<float> b = random_row(n);
    double expected = 0;
    double magnitude = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      expected += term(a[i], b[i]);
      magnitude += std::abs(term(a[i], b[i]));
    }
    EXPECT_NEAR(sum(a.data(), b.data(), n), expected, 1e-5 * magnitude) << n;
  }
}

TEST(RowKernels, SumsOverTwoRowsAreThoseOfFloat64) {
  for (const Kernels* set : usable_kernels()) {
    SCOPED_TRACE(set->instruction_set);
    expect_sum(set->dot, [](double a, double b) { return a * b; });
    expect_sum(set->squared_distance, [](double a, double b) { return (a - b) * (a - b); });
    expect_sum(set->absolute_distance, [](double a, double b) { return std::abs(a - b); });
  }
}

TEST(RowKernels, BytesAreWidenedExactly) {
  for (const Kernels* set : usable_kernels()) {
    for (const int64_t n : kSizes) {
      std::vector<uint8_t> bytes(static_cast<size_t>(n));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37);
      std::vector<float> low(bytes.size());
      std::vector<float> with_sign(bytes.size());
      set->widen_uint8(bytes.data(), n, low.data());
      set->widen_int8(reinterpret_cast<const int8_t*>(bytes.data()), n, with_sign.data());
      for (size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(low[i], bytes[i]) << set->instruction_set;
        EXPECT_EQ(with_sign[i], static_cast<int8_t>(bytes[i])) << set->instruction_set;
      }
    }
  }
}

// Returns an element of a matrix product in float64.
double product_of(const Product& p, const std::vector<float>& a, const std::vector<float>& b,
                  std::array<int64_t, 2> at) {
  double sum = 0;
  for (int64_t k = 0; k < p.k; ++k) {
    sum += static_cast<double>(a[static_cast<size_t>(at[0] * p.lda + k)]) *
           b[static_cast<size_t>(k * p.ldb + at[1])];
  }
  return sum;
}

TEST(RowKernels, MultiplyIsTheProductAndWritesNothingElse) {
  constexpr float kUntouched = -77;
  for (const Kernels* set : usable_kernels()) {
    for (const Product& p :
         {Product{8, 1, 1, 1, 1, 1}, Product{16, 33, 7, 9, 40, 35}, Product{32, 64, 32, 96, 64, 64},
          Product{48, 20, 300, 301, 20, 24}, Product{32, 160, 129, 130, 160, 161}}) {
      SCOPED_TRACE(::testing::Message() << set->instruction_set << ' ' << p.n << ' ' << p.k);
      const std::vector<float> a = random_row(p.m * p.lda);
      const std::vector<float> b = random_row(p.k * p.ldb);
      std::vector<float> c(static_cast<size_t>(p.m * p.ldc), kUntouched);
      set->multiply(p, a.data(), b.data(), c.data());
      for (int64_t i = 0; i < p.m; ++i) {
        for (int64_t j = 0; j < p.ldc; ++j) {
          const double got = c[static_cast<size_t>(i * p.ldc + j)];
          if (j < p.n) {
            EXPECT_NEAR(got, product_of(p, a, b, {i, j}), 1e-5 * std::sqrt(p.k)) << i << ' ' << j;
          } else {
            EXPECT_EQ(got, kUntouched);
          }
        }
      }
    }
  }
}

// An element of a product must not depend on the number of rows and columns. Attention relies on
// this: its bits must not depend on how many queries and keys are computed together.
TEST(RowKernels, AnElementOfAProductDoesNotDependOnTheOthers) {
  constexpr Product kWhole = {32, 50, 200, 200, 50, 50};
  constexpr Product kPart = {16, 17, 200, 200, 50, 50};
  const std::vector<float> a = random_row(kWhole.m * kWhole.lda);
  const std::vector<float> b = random_row(kWhole.k * kWhole.ldb);
  for (const Kernels* set : usable_kernels()) {
    std::vector<float> whole(static_cast<size_t>(kWhole.m * kWhole.ldc));
    std::vector<float> part(whole.size());
    set->multiply(kWhole, a.data(), b.data(), whole.data());
    set->multiply(kPart, a.data() + 16 * kWhole.lda, b.data() + 33, part.data());
    for (int64_t i = 0; i < kPart.m; ++i) {
      for (int64_t j = 0; j < kPart.n; ++j) {
        EXPECT_EQ(part[static_cast<size_t>(i * kPart.ldc + j)],
                  whole[static_cast<size_t>((16 + i) * kWhole.ldc + 33 + j)]);
      }
    }
  }
}

TEST(RowKernels, ExpScoresInBfloat16AreThoseRounded) {
  for (const Kernels* set : usable_kernels()) {
    for (const int64_t n : kSizes) {
      const std::vector<float> scores = random_row(n, 30);
      std::vector<float> exact(scores.size());
      std::vector<BFloat16> got(scores.size());
      const float sum = set->exp_scores(scores.data(), n, 0.25, exact.data());
      EXPECT_NEAR(set->exp_scores_bfloat16(scores.data(), n, 0.25, got.data()), sum, 1e-5 * sum);
      const std::vector<float> rounded = widened(got);
      // The error of 1e-5 before rounding may move a result to the next bfloat16 number, so the
      // limit is a little more than half a unit.
      constexpr float kHalfUnit = 1.0F / 256;
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_NEAR(rounded[i], exact[i], (kHalfUnit + 1e-5F) * exact[i] + 2e-38F)
            << set->instruction_set << " at " << i;
      }
    }
  }
}

TEST(RowKernels, TransposeWritesSixteenColumnsAndNothingElse) {
  constexpr int64_t kColumns = 32;
  constexpr int64_t kStrideBytes = 150;  // rows are not aligned
  constexpr uint32_t kUntouched = 0xDEADBEEF;
  std::vector<std::byte> memory(16 * kStrideBytes);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 % 251);
  for (const Kernels* set : usable_kernels()) {
    for (const int64_t width : {1, 15, 16, 33}) {
      for (const int64_t count : {0, 1, 7, 16}) {
        SCOPED_TRACE(::testing::Message() << set->instruction_set << ' ' << width << ' ' << count);
        std::vector<uint32_t> got(static_cast<size_t>(width * kColumns), kUntouched);
        set->transpose({memory.data(), kStrideBytes, count, width}, kColumns, got.data());
        for (int64_t i = 0; i < width; ++i) {
          for (int64_t j = 0; j < kColumns; ++j) {
            uint32_t expected = j < 16 ? 0 : kUntouched;
            if (j < count) std::memcpy(&expected, &memory[j * kStrideBytes + i * 4], 4);
            ASSERT_EQ(got[static_cast<size_t>(i * kColumns + j)], expected) << i << ' ' << j;
          }
        }
      }
    }
  }
}

TEST(RowKernels, InterleaveTakesTurns) {
  for (const Kernels* set : usable_kernels()) {
    for (const int64_t n : kSizes) {
      const auto a = stored<BFloat16>(random_row(n));
      const auto b = stored<BFloat16>(random_row(n));
      std::vector<BFloat16> both(2 * a.size());
      std::vector<BFloat16> alone(2 * a.size());
      set->interleave(a.data(), b.data(), n, both.data());
      set->interleave(a.data(), nullptr, n, alone.data());
      for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(both[2 * i].bits, a[i].bits) << set->instruction_set;
        EXPECT_EQ(both[2 * i + 1].bits, b[i].bits) << set->instruction_set;
        EXPECT_EQ(alone[2 * i].bits, a[i].bits) << set->instruction_set;
        EXPECT_EQ(alone[2 * i + 1].bits, 0) << set->instruction_set;
      }
    }
  }
}

TEST(RowKernels, ExpScoresDoesNotHideNotANumber) {
  for (const Kernels* set : usable_kernels()) {
    for (const int64_t at : {0, 7, 16, 18}) {
      std::vector<float> scores = random_row(19);
      scores[static_cast<size_t>(at)] = NAN;
      EXPECT_TRUE(std::isnan(set->exp_scores(scores.data(), 19, 1, scores.data())))
          << set->instruction_set << " at " << at;
    }
  }
}

// A floating-point format with `fraction` bits after the binary point and exponents from `lowest`
// to `highest`. nearest() rounds to the nearest number, ties to even.
struct Format {
  int fraction;
  int lowest;
  int highest;

  double nearest(double x) const {
    if (x == 0 || std::isinf(x)) return x;
    const int exponent = std::max(std::ilogb(x), lowest);
    const double unit = std::ldexp(1, exponent - fraction);
    const double rounded = std::nearbyint(x / unit) * unit;
    return std::abs(rounded) >= std::ldexp(1, highest + 1) ? std::copysign(INFINITY, x) : rounded;
  }
};

std::vector<float> numbers_of_every_size() {
  std::vector<float> values = {0.0F,     -0.0F,    1.00390625F, 1.01171875F, -1.00048828125F,
                               65504.0F, 65519.0F, 65520.0F,    3.4e38F,     -1e-40F,
                               2.9e-8F,  3.1e-8F,  6.0976e-5F,  INFINITY,    -INFINITY};
  std::mt19937 generator(3);
  std::uniform_int_distribution<uint32_t> bits;
  while (values.size() < 20000) {
    const auto value = std::bit_cast<float>(bits(generator));
    if (!std::isnan(value)) values.push_back(value);
    // Adds the same number of values in the range of float16.
    values.push_back(std::ldexp(static_cast<float>(bits(generator)) - 0x1p31F,
                                static_cast<int>(bits(generator) % 45) - 60));
  }
  return values;
}

template <typename T>
void check_rounding(const Format& format) {
  const std::vector<float> values = numbers_of_every_size();
  const auto n = static_cast<int64_t>(values.size());
  for (const Kernels* set : usable_kernels()) {
    std::vector<T> rounded(values.size());
    set->rows<T>().scale(values.data(), n, 1, rounded.data());
    std::vector<float> back(values.size());
    set->rows<T>().widen(rounded.data(), n, back.data());
    const bool flushes = std::is_same_v<T, BFloat16> && set->flushes_subnormal_bfloat16;
    for (size_t i = 0; i < values.size(); ++i) {
      if (flushes && std::abs(values[i]) < std::ldexp(1.0F, format.lowest)) {
        ASSERT_EQ(back[i], 0) << values[i];
        continue;
      }
      ASSERT_EQ(static_cast<double>(back[i]), format.nearest(values[i]))
          << set->instruction_set << ' ' << values[i];
    }
    const float nan = NAN;
    set->rows<T>().scale(&nan, 1, 1, rounded.data());
    set->rows<T>().widen(rounded.data(), 1, back.data());
    EXPECT_TRUE(std::isnan(back[0])) << set->instruction_set;
  }
}

TEST(RowKernels, StoringRoundsToNearestEven) {
  check_rounding<BFloat16>({.fraction = 7, .lowest = -126, .highest = 127});
  check_rounding<Float16>({.fraction = 10, .lowest = -14, .highest = 15});
}

TEST(RowKernels, WideningIsExactForEveryFloat16) {
  for (const Kernels* set : usable_kernels()) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const Float16 half = {static_cast<uint16_t>(bits)};
      float got = 0;
      set->float16.widen(&half, 1, &got);
      const int exponent = static_cast<int>(bits >> 10 & 31);
      const auto mantissa = static_cast<double>(bits & 1023);
      double expected =
          exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      if (exponent == 31) expected = mantissa == 0 ? INFINITY : NAN;
      if (bits & 0x8000) expected = -expected;
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(got) : static_cast<double>(got) == expected)
          << set->instruction_set << ' ' << bits;
    }
  }
}

template <typename T>
void check_norms(double tolerance) {
  for (const Kernels* set : usable_kernels()) {
    for (const int64_t n : kSizes) {
      const auto x = stored<T>(random_row(n, 3));
      const auto weight = stored<T>(random_row(n));
      const auto bias = stored<T>(random_row(n));
      const auto wide = widened(x);
      double mean = 0;
      double square = 0;
      double variance = 0;
      const auto count = static_cast<double>(n);
      for (const double value : wide) mean += value / count;
      for (const double value : wide) square += value * value / count;
      for (const double value : wide) variance += (value - mean) * (value - mean) / count;
      std::vector<T> layer(x.size());
      std::vector<T> rms(x.size());
      constexpr float kEps = 1e-5F;
      set->rows<T>().layer_norm({x.data(), weight.data(), bias.data(), n, kEps, layer.data()});
      set->rows<T>().rms_norm({x.data(), weight.data(), nullptr, n, kEps, rms.data()});
      const auto wide_weight = widened(weight);
      const auto wide_bias = widened(bias);
      for (size_t i = 0; i < x.size(); ++i) {
        const double normed = (wide[i] - mean) / std::sqrt(variance + kEps) * wide_weight[i];
        const double expected = normed + wide_bias[i];
        EXPECT_NEAR(widened(layer)[i], expected,
                    tolerance * (std::abs(normed) + std::abs(expected) + 1e-3));
        const double scaled = wide[i] / std::sqrt(square + kEps) * wide_weight[i];
        EXPECT_NEAR(widened(rms)[i], scaled, 2 * tolerance * std::abs(scaled) + 1e-7);
      }
    }
  }
}

TEST(RowKernels, NormsAreTheirFormulas) {
  check_norms<float>(2e-6);
  check_norms<BFloat16>(0x1p-8);
  check_norms<Float16>(0x1p-10);
}

TEST(RowKernels, NormsLeaveTheNeighboursAlone) {
  for (const Kernels* set : usable_kernels()) {
    const std::vector<float> x = random_row(19);
    std::vector<float> y(21, 5.0F);
    set->float32.layer_norm({x.data(), x.data(), nullptr, 19, 1e-5F, y.data() + 1});
    EXPECT_EQ(y.front(), 5.0F);
    EXPECT_EQ(y.back(), 5.0F);
  }
}

}  // namespace
}  // namespace encode::kernels
