#include "nn/layers/linear.h"

#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/silu.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "nn/layers/product_trace.h"

namespace encode {
namespace {

double max_difference(const at::Tensor& a, const at::Tensor& b) {
  return at::max(at::abs(a.to(at::kFloat).sub(b.to(at::kFloat)))).item<double>();
}

TEST(Launches, HaveTheFirstNumberOfRowsThatDividesTheProduct) {
  const Launches launches = {.rows = 2048, .block_rows = 256};
  EXPECT_EQ(launches.rows_of(4096), 2048);
  EXPECT_EQ(launches.rows_of(512), 256);
  EXPECT_EQ(launches.rows_of(100), 100);
  EXPECT_EQ((Launches{.rows = 2048}).rows_of(512), 512);
  EXPECT_EQ(Launches{}.rows_of(512), 512);
}

// The bits of a row do not depend on the other rows or on their number. The reproducibility of a
// job depends on this property.
class RowBits
    : public ::testing::TestWithParam<std::tuple<at::ScalarType, std::pair<int64_t, int64_t>>> {};

TEST_P(RowBits, AreTheSameInEveryBatch) {
  const c10::InferenceMode inference;
  const auto [type, shape] = GetParam();
  const auto [in, out] = shape;
  const auto options = at::TensorOptions().dtype(type);
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    const Linear linear(at::randn({out, in}, options), at::randn({out}, options),
                        Activation::kGelu);
    const at::Tensor x = at::randn({1200, in}, options);
    const at::Tensor whole = linear(x);
    for (const int64_t rows : {1, 2, 3, 7, 8, 31, 64, 127, 511, 512, 513, 1024}) {
      for (const int64_t begin : {0, 5, 176}) {
        EXPECT_TRUE(at::equal(linear(x.narrow(0, begin, rows)), whole.narrow(0, begin, rows)))
            << rows << " rows from " << begin << ", " << threads << " threads";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, RowBits,
    ::testing::Combine(::testing::Values(at::kFloat, at::kBFloat16, at::kHalf),
                       ::testing::Values(std::pair<int64_t, int64_t>{384, 1152},
                                         std::pair<int64_t, int64_t>{1536, 384},
                                         std::pair<int64_t, int64_t>{64, 96})));

TEST(Linear, MatchesLibTorchWithEachActivation) {
  const c10::InferenceMode inference;
  const at::Tensor w = at::randn({96, 64}).div_(8);  // makes the results about 1
  const at::Tensor b = at::randn({96});
  const at::Tensor x = at::randn({40, 64});
  const at::Tensor product = at::linear(x.to(at::kDouble), w.to(at::kDouble));
  const at::Tensor plain = product.add(b).to(at::kFloat);
  EXPECT_LT(max_difference(Linear(w, b)(x), plain), 1e-5);
  EXPECT_LT(max_difference(Linear(w, {})(x), product.to(at::kFloat)), 1e-5);
  EXPECT_LT(max_difference(Linear(w, b, Activation::kGelu)(x), at::gelu(plain, "none")), 1e-5);
  EXPECT_LT(max_difference(Linear(w, b, Activation::kGeluTanh)(x), at::gelu(plain, "tanh")), 1e-5);
  EXPECT_LT(max_difference(Linear(w, b, Activation::kSilu)(x), at::silu(plain)), 1e-5);
}

// Some CPU kernels split float32 numbers into 8-bit digits. At this width the sums of the products
// of digits do not fit into 32 bits, so another kernel must run.
TEST(Linear, TakesInputsOfAnyWidth) {
  const c10::InferenceMode inference;
  const at::Tensor w = at::ones({32, 60000});
  const at::Tensor x = at::ones({3, 60000});
  EXPECT_LT(max_difference(Linear(w, {})(x), at::full({3, 32}, 60000)), 0.1);
}

// This is the control of MatchesLibTorchWithEachActivation. It shows that the test can tell the two
// forms of GELU apart.
TEST(Linear, ExactAndApproximateGeluDiffer) {
  const at::Tensor x = at::randn({40, 64}).mul(2);
  EXPECT_GT(max_difference(activate(x, Activation::kGelu), activate(x, Activation::kGeluTanh)),
            1e-4);
}

TEST(Linear, AddsTheResidual) {
  const c10::InferenceMode inference;
  const at::Tensor w = at::randn({64, 96});
  const at::Tensor b = at::randn({64});
  const at::Tensor x = at::randn({700, 96});
  const at::Tensor residual = at::randn({700, 64});
  EXPECT_LT(max_difference(Linear(w, b).add(x, residual).sum, at::linear(x, w, b).add(residual)),
            1e-4);
}

TEST(Linear, HighPrecisionIsLessExactWhereThatIsFaster) {
  const c10::InferenceMode inference;
  const at::Tensor w = at::randn({96, 384});
  const at::Tensor x = at::randn({40, 384});
  const at::Tensor exact = at::linear(x.to(at::kDouble), w.to(at::kDouble));
  const auto error = [&](ProductFormat format) {
    return max_difference(Linear({w}, {}, Activation::kNone, {.format = format})(x), exact);
  };
  const double high = error(ProductFormat::kFloat32High);
  const double highest = error(ProductFormat::kFloat32);
  EXPECT_LT(highest, 1e-4);
  EXPECT_LT(high, 1e-2);
  if (kernels::facts_of(kernels::capability()).has_tiles) {
    EXPECT_GT(high, 4 * highest);
  }
}

// LibTorch has one precision for the whole process. The result of a Linear depends on its own
// format and not on this setting.
TEST(Linear, AProcessWideSettingChangesNothing) {
  const c10::InferenceMode inference;
  const at::Tensor w = at::randn({96, 384});
  const at::Tensor x = at::randn({40, 384});
  const Linear linear(w, {});
  const at::Tensor expected = linear(x);
  for (const char* precision : {"high", "medium"}) {
    at::globalContext().setFloat32MatmulPrecision(precision);
    const at::Tensor before = linear(x);
    const at::Tensor now = Linear(w, {})(x);
    at::globalContext().setFloat32MatmulPrecision("highest");
    EXPECT_TRUE(at::equal(before, expected)) << precision;
    EXPECT_TRUE(at::equal(now, expected)) << precision;
  }
}

TEST(Linear, RefusesWeightsOfAnotherTypeThanItsFormat) {
  EXPECT_THROW(
      Linear({at::randn({32, 32})}, {}, Activation::kNone, {.format = ProductFormat::kBFloat16}),
      c10::Error);
}

// The expected error is at most half a unit in the last place, in addition to the error of float32
// sums.
TEST(Linear, RoundsA16BitResultOnce) {
  const c10::InferenceMode inference;
  for (const auto& [type, half_unit] :
       {std::pair{at::kHalf, 0x1p-11}, std::pair{at::kBFloat16, 0x1p-8}}) {
    const at::Tensor w = at::randn({64, 96}).to(type);
    const at::Tensor x = at::randn({20, 96}).to(type);
    const at::Tensor exact = at::linear(x.to(at::kDouble), w.to(at::kDouble));
    const at::Tensor error = Linear(w, {})(x).to(at::kDouble).sub(exact).abs();
    EXPECT_TRUE(error.le(exact.abs().mul(half_unit).add(1e-4)).all().item<bool>()) << type;
  }
}

TEST(ProductTrace, NotesProductsFromItsStartToItsStop) {
  const c10::InferenceMode inference;
  ProductTrace trace;
  const ProductOptions options = {.format = ProductFormat::kFloat32, .trace = &trace};
  const Linear wide({at::randn({64, 96})}, {}, Activation::kNone, options);
  const Linear untold(at::randn({64, 96}), {});
  const at::Tensor x = at::randn({20, 96});
  wide(x);
  EXPECT_TRUE(trace.stop().empty());
  trace.start();
  untold(x);
  wide(x);
  wide.add(x, at::randn({20, 64}));
  const std::vector<TracedProduct> products = trace.stop();
  wide(x);
  ASSERT_EQ(products.size(), 2U);
  EXPECT_EQ(products[0].call, TracedProduct::Call::kInBlocks);
  EXPECT_EQ(products[1].call, TracedProduct::Call::kAddInBlocks);
  EXPECT_EQ(products[1].flops(), 2.0 * 20 * 96 * 64);
  EXPECT_TRUE(trace.stop().empty());
}

}  // namespace
}  // namespace encode
