// Tests the options that fix the matrix products, on the stand-in, whose products depend on the
// place of a row if the options allow it.
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equal_rows.h"
#include "nn/cuda/product_settings.h"
#include "on_gpu.h"

namespace encode {
namespace {

const auto kSize = testing::EqualRows::small();

class ProductSettings : public testing::OnGpu {
 protected:
  ~ProductSettings() override { set_product_options(); }
};

// The control of products_test.cc: it finds each kind of 16-bit product that depends on the place.
TEST_F(ProductSettings, SplitSumsAreFound) {
  for (const bool reduced : {true, false}) {
    at::globalContext().setAllowBF16ReductionCuBLAS(reduced, /*allow_splitk=*/true);
    at::globalContext().setAllowFP16ReductionCuBLAS(reduced, /*allow_splitk=*/true);
    for (const ProductFormat format : {ProductFormat::kBFloat16, ProductFormat::kFloat16}) {
      const auto found = testing::products_with_unequal_rows(format, kSize, device_);
      EXPECT_THAT(found, ::testing::Contains("MiniLM out in launches"));
      EXPECT_THAT(found, ::testing::Contains("BERT-large down in blocks"));
      EXPECT_THAT(found, ::testing::Contains("Qwen2-1.5B out with a residual"));
    }
  }
}

TEST_F(ProductSettings, WithoutSplitSumsNeedCublasLt) {
  at::globalContext().setBlasPreferredBackend(at::BlasBackend::Cublas);
  EXPECT_THROW(testing::products_with_unequal_rows(ProductFormat::kBFloat16, kSize, device_),
               c10::Error);
}

TEST_F(ProductSettings, OfFloat32AreExact) {
  at::globalContext().setFloat32MatmulPrecision("high");
  set_product_options();
  EXPECT_EQ(at::globalContext().float32MatmulPrecision(), at::Float32MatmulPrecision::HIGHEST);
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
}

}  // namespace
}  // namespace encode
