// Tests the plugin's kernels on a GPU.
#include <cmath>
#include <functional>
#include <iostream>

#include <ATen/ops/abs.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "nn/cuda/kernel_checks.h"
#include "nn/fp8/fp8_multiply.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "nn/layers/pooling.h"
#include "on_gpu.h"

namespace encode {
namespace {

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kHalf, at::kBFloat16};

class GpuKernels : public testing::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    for (const at::ScalarType type : kTypes) open_cuda_kernels(device_, type);
  }

  at::Tensor random(at::IntArrayRef shape, at::ScalarType type) const {
    return at::randn(shape, at::TensorOptions().dtype(at::kFloat)).to(device_, type);
  }
};

TEST_F(GpuKernels, DifferFromLibTorchByRoundingAlone) {
  for (const at::ScalarType type : kTypes) {
    for (const KernelFinding& finding : check_kernels(*plugin_kernels(), device_, type)) {
      std::cout << "self-check " << to_string(finding.kernel) << " " << type << " "
                << finding.difference << " of the tolerance\n";
      EXPECT_TRUE(finding.passed) << to_string(finding.kernel) << " " << type << ": "
                                  << finding.reason;
    }
  }
}

// Expects that f gives some rows of x the same bits alone as among all rows of x.
void expect_rows_alone(const at::Tensor& x, const std::function<at::Tensor(const at::Tensor&)>& f) {
  const at::Tensor whole = f(x);
  for (const auto& [begin, count] : {std::pair<int64_t, int64_t>{0, 1}, {5, 130}, {299, 2}}) {
    EXPECT_TRUE(at::equal(f(x.narrow(0, begin, count).clone()), whole.narrow(0, begin, count)))
        << x.scalar_type() << " rows from " << begin;
  }
}

TEST_F(GpuKernels, ARowDoesNotSeeItsNeighbours) {
  for (const at::ScalarType type : kTypes) {
    for (const int64_t width : {128, 384, 1536, 8192}) {
      const at::Tensor x = random({301, width}, type);
      const LayerNorm layer_norm(random({width}, type), random({width}, type), 1e-5);
      const RmsNorm rms_norm(random({width}, type), 1e-6);
      expect_rows_alone(x, [&](const at::Tensor& rows) { return layer_norm(rows); });
      expect_rows_alone(x, [&](const at::Tensor& rows) {
        ResidualSum sum = {rows, rows.clone()};
        return at::cat({rms_norm.settle(sum), sum.sum}, 1);
      });
      expect_rows_alone(x,
                        [](const at::Tensor& rows) { return apply_gate(rows, Activation::kSilu); });
      expect_rows_alone(x, [](const at::Tensor& rows) {
        return activate_product(rows.clone(), Activation::kGelu);
      });
    }
  }
}

TEST_F(GpuKernels, APooledSequenceDoesNotSeeItsNeighbours) {
  for (const at::ScalarType type : kTypes) {
    const at::Tensor tokens = random({700, 384}, type);
    const auto pooled = [&](const std::vector<int32_t>& cu_seqlens, int64_t begin) {
      PackedInput batch;
      batch.cu_seqlens = cu_seqlens;
      batch.cu_seqlens_device = to_device(cu_seqlens, device_);
      return pool(tokens.narrow(0, begin, cu_seqlens.back()), batch,
                  {PoolingMode::kMean, PoolingMode::kMax, PoolingMode::kLastToken});
    };
    const at::Tensor together = pooled({0, 1, 90, 602, 700}, 0);
    EXPECT_TRUE(at::equal(pooled({0, 512}, 90)[0], together[2])) << type;
    EXPECT_TRUE(at::equal(pooled({0, 512, 610}, 90)[1], together[3])) << type;
  }
}

// The stored sum must have the bits of LibTorch's own addition, because both round once.
TEST_F(GpuKernels, TheSumIsLibTorchsToTheBit) {
  for (const at::ScalarType type : kTypes) {
    const at::Tensor x = random({64, 768}, type);
    const at::Tensor term = random({64, 768}, type);
    ResidualSum sum = {x, term.clone()};
    RmsNorm(random({768}, type), 1e-6).settle(sum);
    EXPECT_FALSE(sum.term.defined());
    EXPECT_TRUE(at::equal(sum.sum, term.add(x))) << type;
  }
}

// If a kernel is not trusted, LibTorch's operations replace it. Therefore both must give the same
// values.
TEST_F(GpuKernels, QuantizedRowsAreThoseOfLibTorchsOperations) {
  for (const at::ScalarType type : kTypes) {
    for (const int64_t width : {384, 1536, 8960}) {
      const at::Tensor x = random({301, width}, type);
      const Fp8Rows found = quantize_rows(x);
      const Fp8Rows expected = quantize_rows_by_operations(x);
      EXPECT_TRUE(at::equal(found.values.to(at::kFloat), expected.values.to(at::kFloat))) << type;
      EXPECT_TRUE(at::equal(found.scale, expected.scale)) << type;
      expect_rows_alone(x, [](const at::Tensor& rows) { return dequantize(quantize_rows(rows)); });
    }
  }
}

TEST_F(GpuKernels, Fp8ProductsAreThoseOfTheCpu) {
  if (!supports_fp8(device_)) {
    EXPECT_NE(check_fp8_product(device_), "") << compute_capability(device_);
    return;
  }
  EXPECT_EQ(check_fp8_product(device_), "");
  constexpr ProductOptions kFp8 = {.format = ProductFormat::kFp8};
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>{384, 1152}, {8960, 1536}}) {
    const at::Tensor weight = at::randn({out, in}).mul_(std::pow(in, -0.5)).to(at::kBFloat16);
    const at::Tensor bias = at::randn({out}).to(at::kBFloat16);
    const at::Tensor x = at::randn({1024, in}).to(at::kBFloat16);
    const at::Tensor expected = Linear({weight}, bias, Activation::kGelu, kFp8)(x).to(at::kFloat);
    const Linear linear({weight.to(device_)}, bias.to(device_), Activation::kGelu, kFp8);
    const at::Tensor found = linear(x.to(device_)).cpu().to(at::kFloat);
    // The tensor cores of Hopper add 8-bit products with about 14 bits, so they differ from the
    // CPU's sums in float32 (DeepSeek-V3 technical report, section 3.3.2). On an H100 the largest
    // difference was 2^-5 and 2^-4.
    const at::Tensor rounding = at::abs(expected).mul_(0x1p-7);
    const at::Tensor difference = at::abs(found.sub(expected));
    std::cout << "fp8 " << in << " x " << out << " differs from the CPU's by "
              << at::max(difference).item<double>() << "\n";
    EXPECT_LE(at::max(difference.sub(rounding)).item<double>(), 0x1p-4);
    EXPECT_TRUE(at::equal(linear(x.to(device_)).cpu().to(at::kFloat), found)) << "a second time";
  }
}

}  // namespace
}  // namespace encode
