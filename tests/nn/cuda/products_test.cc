// Tests on a GPU that a matrix product gives a row the same bits at every place, in each number
// format. The environment variable ENCODE_TEST_SMALL_PRODUCTS makes the products small, for the
// stand-in.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equal_rows.h"
#include "nn/cuda/cuda_kernels.h"
#include "on_gpu.h"

namespace encode {
namespace {

class GpuProducts : public testing::OnGpu {
 protected:
  static testing::EqualRows size() {
    const bool small = std::getenv("ENCODE_TEST_SMALL_PRODUCTS") != nullptr;
    return small ? testing::EqualRows::small() : testing::EqualRows{};
  }

  // gpu_check.py shows the lines that begin with "self-check".
  std::vector<std::string> unequal(ProductFormat format, const char* name,
                                   const testing::EqualRows& size) const {
    const auto found = testing::products_with_unequal_rows(format, size, device_);
    std::cout << "self-check products " << name << " " << size.rows
              << " equal rows: " << found.size() << " products depend on the place\n";
    return found;
  }

  void expect_equal_rows(ProductFormat format, const char* name) const {
    EXPECT_THAT(unequal(format, name, size()), ::testing::IsEmpty());
  }
};

TEST_F(GpuProducts, Float32GivesEqualRowsEqualBits) {
  expect_equal_rows(ProductFormat::kFloat32, "float32");
}

// On an H100, cuBLASLt splits the sums of some rows of Qwen2-1.5B's largest product in TF32. The
// engine finds this when it loads a model, and launches the product with fewer rows.
TEST_F(GpuProducts, Float32HighGivesEqualRowsEqualBitsInSmallLaunches) {
  testing::EqualRows launches = size();
  const int64_t least = launches.rows / 16;
  auto found = unequal(ProductFormat::kFloat32High, "float32_high", launches);
  while (!found.empty() && launches.rows > least) {
    launches.rows /= 2;
    found = unequal(ProductFormat::kFloat32High, "float32_high", launches);
  }
  EXPECT_THAT(found, ::testing::IsEmpty());
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
