#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/max.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sin.h>
#include <gtest/gtest.h>

#include "nn/layers/norm.h"
#include "nn/layers/rotary.h"

namespace encode {
namespace {

double max_difference(const at::Tensor& a, const at::Tensor& b) {
  return at::max(at::abs(a.to(at::kDouble).sub(b.to(at::kDouble)))).item<double>();
}

TEST(RmsNorm, IsTheFormulaForEveryWidth) {
  for (const int64_t width : {1, 15, 16, 17, 64, 1536}) {
    const at::Tensor x = at::randn({9, width});
    const at::Tensor weight = at::randn({width});
    const at::Tensor wide = x.to(at::kDouble);
    const at::Tensor expected =
        wide.mul(at::rsqrt(wide.mul(wide).mean(-1, true).add(1e-6))).mul(weight.to(at::kDouble));
    EXPECT_LT(max_difference(RmsNorm(weight, 1e-6)(x), expected),
              2e-6 * std::max(1.0, at::max(at::abs(expected)).item<double>()))
        << "width " << width;
  }
}

TEST(Rotary, TurnsEachPairByItsAngle) {
  constexpr int64_t kHeadDim = 8;
  constexpr double kTheta = 10000;
  const Rotary rotary({.head_dim = kHeadDim, .theta = kTheta}, 100, at::kCPU);
  const at::Tensor before = at::randn({5, 3, kHeadDim});
  at::Tensor after = before.clone();
  PackedInput batch;
  batch.position_ids = at::arange(90, 95, at::kLong);
  rotate(after, 2, rotary.angles(batch));
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t i = 0; i < kHeadDim / 2; ++i) {
      const double angle =
          static_cast<double>(90 + t) / std::pow(kTheta, 2.0 * static_cast<double>(i) / kHeadDim);
      const double a = before[t][1][i].item<double>();
      const double b = before[t][1][i + kHeadDim / 2].item<double>();
      EXPECT_NEAR(after[t][1][i].item<double>(), a * std::cos(angle) - b * std::sin(angle), 1e-4);
      EXPECT_NEAR(after[t][1][i + kHeadDim / 2].item<double>(),
                  b * std::cos(angle) + a * std::sin(angle), 1e-4);
    }
  }
  EXPECT_EQ(max_difference(after.select(1, 2), before.select(1, 2)), 0)
      << "the third head is a value and is not turned";
}

TEST(Rotary, TurnsOnlyTheFirstElementsOfAHead) {
  const Rotary rotary({.head_dim = 4}, 10, at::kCPU);
  const at::Tensor before = at::randn({5, 3, 12});
  at::Tensor after = before.clone();
  at::Tensor first = before.narrow(2, 0, 4).contiguous();
  PackedInput batch;
  batch.position_ids = at::arange(3, 8, at::kLong);
  rotate(after, 2, rotary.angles(batch));
  rotate(first, 2, rotary.angles(batch));
  EXPECT_EQ(max_difference(after.narrow(2, 0, 4), first), 0);
  EXPECT_EQ(max_difference(after.narrow(2, 4, 8), before.narrow(2, 4, 8)), 0);
  EXPECT_GT(max_difference(first.narrow(1, 0, 2), before.narrow(1, 0, 2).narrow(2, 0, 4)), 0.1);
}

}  // namespace
}  // namespace encode
