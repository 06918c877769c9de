// Tests on a GPU that a matrix product gives a row the same bits at every place, in each number
// format. The environment variable ENCODE_TEST_SMALL_PRODUCTS makes the products small, for the
// stand-in.
#include <cstdlib>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equal_rows.h"
#include "nn/cuda/cuda_kernels.h"
#include "on_gpu.h"

namespace encode {
namespace {

class GpuProducts : public testing::OnGpu {
 protected:
  // gpu_check.py shows the lines that begin with "self-check".
  void expect_equal_rows(ProductFormat format, const char* name) const {
    const bool small = std::getenv("ENCODE_TEST_SMALL_PRODUCTS") != nullptr;
    const auto size = small ? testing::EqualRows::small() : testing::EqualRows{};
    const auto found = testing::products_with_unequal_rows(format, size, device_);
    std::cout << "self-check products " << name << " " << size.rows
              << " equal rows: " << found.size() << " products depend on the place\n";
    EXPECT_THAT(found, ::testing::IsEmpty());
  }
};

TEST_F(GpuProducts, Float32GivesEqualRowsEqualBits) {
  expect_equal_rows(ProductFormat::kFloat32, "float32");
}

TEST_F(GpuProducts, Float32HighGivesEqualRowsEqualBits) {
  expect_equal_rows(ProductFormat::kFloat32High, "float32_high");
}

TEST_F(GpuProducts, Float16GivesEqualRowsEqualBits) {
  expect_equal_rows(ProductFormat::kFloat16, "float16");
}

TEST_F(GpuProducts, BFloat16GivesEqualRowsEqualBits) {
  if (supports_bfloat16(device_)) {
    expect_equal_rows(ProductFormat::kBFloat16, "bfloat16");
  } else {
    std::cout << "encode refuses bfloat16 on " << device_description(device_) << "\n";
  }
}

TEST_F(GpuProducts, Fp8GivesEqualRowsEqualBits) {
  if (supports_fp8(device_)) {
    open_cuda_kernels(device_, at::kBFloat16);
    expect_equal_rows(ProductFormat::kFp8, "fp8");
  } else {
    std::cout << "encode refuses fp8 on " << device_description(device_) << "\n";
  }
}

}  // namespace
}  // namespace encode
