// Searches on a GPU for the algorithms of the matrix products of four models, and shows what the
// search gains. The environment variable ENCODE_TEST_SMALL_PRODUCTS makes the products small, for
// the stand-in.
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>

#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "encode/batch_plan.h"

#include "equal_rows.h"
#include "nn/cuda/product_search.h"
#include "on_gpu.h"

namespace encode {
namespace {

class GpuProductSearch : public testing::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    if (std::getenv("ENCODE_TEST_SMALL_PRODUCTS") != nullptr) size_ = testing::EqualRows::small();
    ASSERT_NE(plugin_products(), nullptr) << "the plugin does not find cuBLASLt";
  }

  // Output products have a residual, which cuBLASLt adds together with the bias.
  ProductShape shape_of(const testing::ModelProduct& product, ProductFormat format) const {
    return {.rows = launch_tokens(product.hidden) * size_.rows / testing::EqualRows{}.rows,
            .in_features = product.in / size_.narrowing,
            .out_features = product.out / size_.narrowing,
            .format = format,
            .bias = product.bias,
            .residual = product.out == product.hidden,
            .activation = product.activation == Activation::kGeluTanh ? Activation::kGeluTanh
                                                                      : Activation::kNone};
  }

  // gpu_check.py shows the lines that begin with "self-check".
  void search_all(ProductFormat format, const char* type) const {
    const c10::InferenceMode inference;
    double before = 0;
    double after = 0;
    for (const testing::ModelProduct& product : testing::model_products()) {
      const ProductFinding found =
          search_product(*plugin_products(), shape_of(product, format), device_);
      EXPECT_TRUE(found.algorithm) << product.name << ": no suggestion of cuBLASLt is good";
      std::cout << fmt::format(
          "self-check chosen product {} {} {:.4f} ms, the first suggestion {:.4f} ms; {} "
          "suggestions, {} failed, {} wrong, {} with unequal rows\n",
          product.name, type, found.milliseconds, found.first_milliseconds, found.suggestions,
          found.failed, found.wrong, found.unequal_rows);
      before += found.first_milliseconds;
      after += found.milliseconds;
    }
    std::cout << fmt::format(
        "self-check chosen products, all {} {:.3f} of the time of the first "
        "suggestions\n",
        type, after / before);
  }

  testing::EqualRows size_;
};

TEST_F(GpuProductSearch, FindsAnAlgorithmForEachBFloat16Product) {
  if (supports_bfloat16(device_)) {
    search_all(ProductFormat::kBFloat16, "BFloat16");
  } else {
    search_all(ProductFormat::kFloat16, "Half");
  }
}

TEST_F(GpuProductSearch, FindsAnAlgorithmForEachFloat32Product) {
  search_all(ProductFormat::kFloat32, "Float");
}

}  // namespace
}  // namespace encode
