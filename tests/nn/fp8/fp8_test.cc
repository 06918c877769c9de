// Tests quantized rows and matrix products in 8-bit floats on CPU, where LibTorch's operations
// compute them.
#include <limits>
#include <vector>

#include <ATen/ops/abs.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/cuda/host_kernels.h"
#include "nn/fp8/fp8_multiply.h"
#include "nn/layers/linear.h"

namespace encode {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

at::Tensor row_of(const std::vector<float>& values) { return at::tensor(values).unsqueeze(0); }

std::vector<int> bits_of(const at::Tensor& e4m3) {
  const at::Tensor bytes = e4m3.view(at::kByte).contiguous();
  return {bytes.const_data_ptr<uint8_t>(), bytes.const_data_ptr<uint8_t>() + bytes.numel()};
}

// The expected bits are computed by hand from the definition of the format. The largest element is
// 448, so the scale is 1.
TEST(Fp8Rows, AreRoundedToTheNearestValue) {
  const Fp8Rows rows = quantize_rows(row_of({
      448,         // 0.1111.110, the largest value (sign.exponent.mantissa)
      1,           // 0.0111.000
      -1.125F,     // 1.0111.001
      1.0625F,     // halfway between 1 and 1.125, goes to 1, which is even
      1.1875F,     // halfway between 1.125 and 1.25, goes to 1.25, which is even
      0x1p-6F,     // 0.0001.000, the least normal
      0x1p-9F,     // 0.0000.001, the least subnormal
      0x1p-10F,    // halfway between 0 and 0x1p-9, goes to 0
      0x1.8p-10F,  // nearer to 0x1p-9 than to 0
      -0x1p-12F,   // goes to -0
      431.9F,      // nearer to 416 than to 448
      0,
  }));
  EXPECT_EQ(rows.scale.item<float>(), 1);
  EXPECT_THAT(bits_of(rows.values),
              ElementsAre(0x7e, 0x38, 0xb9, 0x38, 0x3a, 0x08, 0x01, 0x00, 0x01, 0x80, 0x7d, 0x00));
}

TEST(Fp8Rows, EveryValueOfTheFormatComesBack) {
  std::vector<float> values;
  std::vector<int> bits;
  for (int b = 0; b < 256; ++b) {
    if ((b & 127) == 127) continue;  // These bits are a NaN.
    values.push_back(static_cast<float>(testing::e4m3_value(static_cast<uint8_t>(b))));
    bits.push_back(b);
  }
  const Fp8Rows rows = quantize_rows(row_of(values));
  EXPECT_THAT(bits_of(rows.values), ElementsAreArray(bits));
  EXPECT_TRUE(at::equal(dequantize(rows), row_of(values)));
}

TEST(Fp8Rows, AreThoseOfTheDefinition) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const at::Tensor x = at::randn({40, 96}).mul_(30).to(type);
    const Fp8Rows rows = quantize_rows(x);
    const at::Tensor wide = x.to(at::kFloat);
    std::vector<int> expected;
    for (int64_t t = 0; t < 40; ++t) {
      const float largest = at::max(at::abs(wide[t])).item<float>();
      ASSERT_EQ(rows.scale[t].item<float>(), largest / 448);
      for (int64_t i = 0; i < 96; ++i)
        expected.push_back(testing::nearest_e4m3(wide[t][i].item<float>() * (448 / largest)));
    }
    EXPECT_EQ(bits_of(rows.values), expected) << type;
  }
}

// A rounding error can lift the largest element above 448 before the conversion. The result must
// still be 448, and never NaN.
TEST(Fp8Rows, TheLargestElementIsTheLargestValue) {
  const at::Tensor x = at::randn({5000, 1}).mul_(1000);
  const at::Tensor values = at::abs(quantize_rows(x).values.to(at::kFloat));
  EXPECT_TRUE(at::equal(values, at::zeros({5000, 1}).fill_(448)));
}

TEST(Fp8Rows, ZeroAndTinyRowsStayFinite) {
  const at::Tensor x = at::zeros({3, 16});
  x[1].fill_(1e-40F);  // subnormal in float32
  x[2].fill_(std::numeric_limits<float>::max());
  const Fp8Rows rows = quantize_rows(x);
  EXPECT_TRUE(at::equal(dequantize(rows).narrow(0, 0, 2), at::zeros({2, 16})));
  EXPECT_TRUE(at::isfinite(rows.scale).all().item<bool>());
  EXPECT_TRUE(at::allclose(dequantize(rows)[2], x[2]));
}

constexpr ProductOptions kFp8 = {.format = ProductFormat::kFp8};

// If a row of x has a number that is not finite, exactly this row of the result must be not finite.
// A job uses this to find the rows that it has to compute again in a wider type.
TEST(Fp8Product, ARowThatIsNotFiniteGivesNothingFinite) {
  for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
    const at::Tensor x = at::randn({4, 32}).to(at::kBFloat16);
    x[2][5] = bad;
    const Linear linear({at::randn({48, 32}).to(at::kBFloat16)}, {}, Activation::kNone, kFp8);
    const at::Tensor finite = at::isfinite(linear(x));
    EXPECT_FALSE(finite[2].any().item<bool>()) << bad;
    EXPECT_EQ(finite.sum().item<int64_t>(), 3 * 48) << bad;
  }
}

double largest_error(const at::Tensor& found, const at::Tensor& expected) {
  return at::max(at::abs(found.to(at::kFloat).sub(expected))).item<double>();
}

TEST(Fp8Product, IsTheProductOfTheQuantizedRows) {
  const at::Tensor first = at::randn({48, 64}).div_(8);  // makes the results about 1
  const at::Tensor second = at::randn({32, 64}).div_(8);
  const at::Tensor bias = at::randn({80});
  const at::Tensor x = at::randn({600, 64});
  const at::Tensor residual = at::randn({600, 80});
  const at::Tensor weight = at::cat({first, second});
  const at::Tensor expected =
      at::linear(dequantize(quantize_rows(x)), dequantize(quantize_rows(weight)), bias);
  const Linear linear({first, second}, bias, Activation::kNone, kFp8);
  EXPECT_LT(largest_error(linear(x), expected), 1e-5);
  EXPECT_LT(largest_error(linear.add(x, residual).total(), expected.add(residual)), 1e-5);
  EXPECT_LT(largest_error(Linear({weight}, bias, Activation::kGelu, kFp8)(x),
                          activate(expected, Activation::kGelu)),
            1e-5);
  // This is the control: the results differ from the unquantized matrix product, but not by much.
  const double error = largest_error(linear(x), at::linear(x, weight, bias));
  EXPECT_GT(error, 0.01);
  EXPECT_LT(error, 0.5);
}

TEST(Fp8Product, ARowDoesNotSeeItsNeighbours) {
  const Linear linear({at::randn({96, 64}).to(at::kBFloat16)}, at::randn({96}).to(at::kBFloat16),
                      Activation::kGelu, kFp8);
  const at::Tensor x = at::randn({700, 64}).to(at::kBFloat16);
  const at::Tensor whole = linear(x);
  for (const auto& [begin, count] : {std::pair<int64_t, int64_t>{0, 1}, {5, 130}, {510, 100}})
    EXPECT_TRUE(at::equal(linear(x.narrow(0, begin, count)), whole.narrow(0, begin, count)));
}

TEST(Fp8Product, IsMadeOfWidthsThatFit) {
  const auto takes_fp8 = [](const std::vector<at::Tensor>& weights) {
    return Linear(weights, {}, Activation::kNone, kFp8).takes_fp8();
  };
  EXPECT_TRUE(takes_fp8({at::randn({48, 64})}));
  EXPECT_TRUE(takes_fp8({at::randn({8, 64}), at::randn({8, 64})}));
  EXPECT_FALSE(takes_fp8({at::randn({40, 64})}));
  EXPECT_FALSE(takes_fp8({at::randn({48, 24})}));
  const at::Tensor x = at::randn({20, 24});
  const at::Tensor weight = at::randn({48, 24});
  const Linear linear({weight}, {}, Activation::kNone, kFp8);
  EXPECT_FALSE(linear.takes_fp8());
  EXPECT_LT(largest_error(linear(x), at::linear(x, weight)), 1e-4) << "must not be quantized";
}

// On CPU, at::_scaled_mm() supports only one scale for the whole tensor. check_fp8_product() must
// report that it cannot be used.
TEST(Fp8Product, AProductThatIsNotThereIsFoundOut) {
  EXPECT_THAT(check_fp8_product(at::kCPU), ::testing::HasSubstr("per-tensor"));
}

}  // namespace
}  // namespace encode
