// Compares small matrix products of bfloat16 pairs, on tiles and on vector registers, with float64.
#include <vector>

#include <gtest/gtest.h>

#include "kernels/amx.h"
#include "kernels/kernels.h"
#include "usable_kernels.h"
#include "values.h"

namespace encode::kernels {
namespace {

// Expects C = A x B, and that nothing is written beyond the columns of C.
template <typename Multiply>
void expect_product(const Product& p, const Multiply& multiply, double error) {
  const auto a = stored<BFloat16>(random_values(p.m * p.lda));
  const auto b = stored<BFloat16>(random_values(p.k * p.ldb));  // [k / 2][ldb][2]
  std::vector<float> c(static_cast<size_t>(p.m * p.ldc), -77);
  multiply(p, a.data(), b.data(), c.data());
  const std::vector<float> left = widened(a);
  const std::vector<float> right = widened(b);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        sum += static_cast<double>(left[static_cast<size_t>(i * p.lda + k)]) *
               right[static_cast<size_t>(2 * (k / 2 * p.ldb + j) + k % 2)];
      }
      EXPECT_NEAR(c[static_cast<size_t>(i * p.ldc + j)], sum, error) << i << ' ' << j;
    }
    for (int64_t j = p.n; j < p.ldc; ++j)
      EXPECT_EQ(c[static_cast<size_t>(i * p.ldc + j)], -77) << "beyond the last column";
  }
}

const std::vector<Product> kProducts = {
    {16, 32, 32, 40, 32, 32}, {32, 96, 64, 70, 128, 100}, {48, 64, 320, 320, 64, 64}};

TEST(PairProducts, OnTilesAreThoseOfTheirElements) {
  if (!amx::available()) GTEST_SKIP() << "this processor has no AMX";
  const amx::TileSession tiles;
  for (const Product& p : kProducts) expect_product(p, amx::multiply, 2e-5);
}

TEST(PairProducts, OnVectorRegistersAreThoseOfTheirElements) {
  constexpr double kOneChain = 4e-5;  // larger than on tiles, which add in several chains
  int tested = 0;
  for (const Kernels* set : usable_kernels()) {
    if (set->multiply_pairs == nullptr) continue;
    ++tested;
    for (const Product& p : kProducts) expect_product(p, set->multiply_pairs, kOneChain);
    expect_product({8, 5, 2, 2, 7, 9}, set->multiply_pairs, kOneChain);
  }
  if (tested == 0) GTEST_SKIP() << "this processor has no AVX512_BF16";
}

}  // namespace
}  // namespace encode::kernels
