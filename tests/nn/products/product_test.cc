// Tests each implementation of Product by itself, also those that this processor would not choose.
// The product for cuBLAS is made of operations that LibTorch also has on a CPU.
#include <string>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "nn/products/product_kinds.h"
#include "nn/products/row_blocks.h"

namespace encode {
namespace {

constexpr int64_t kIn = 96;
constexpr int64_t kOut = 64;
constexpr int64_t kRows = 1100;  // two blocks, and a part of a third block

double max_difference(const at::Tensor& a, const at::Tensor& b) {
  return at::max(at::abs(a.sub(b))).item<double>();
}

// The weight has two parts, as in fused projections. The results are about 1.
ProductParts random_parts(bool bias, Activation activation = Activation::kNone) {
  return {.weights = {at::randn({kOut / 4, kIn}).div_(10), at::randn({kOut * 3 / 4, kIn}).div_(10)},
          .bias = bias ? at::randn({kOut}) : at::Tensor(),
          .activation = activation};
}

at::Tensor expected_product(const at::Tensor& x, const ProductParts& parts) {
  return activate(at::linear(x, at::cat(parts.weights), parts.bias), parts.activation);
}

struct NamedProduct {
  std::string name;
  std::shared_ptr<const Product> product;
};

std::vector<NamedProduct> cpu_products(const ProductParts& parts) {
  std::vector<NamedProduct> all = {{"LibTorch", make_libtorch_product(parts)}};
  if (auto product = make_onednn_product(parts)) all.push_back({"oneDNN", std::move(product)});
  if (auto product = make_cpu_kernel_product(parts, ProductFormat::kFloat32))
    all.push_back({"the project's kernels", std::move(product)});
  return all;
}

std::vector<NamedProduct> all_products(const ProductParts& parts) {
  std::vector<NamedProduct> all = cpu_products(parts);
  all.push_back({"cuBLAS", make_cublas_product(parts, {.launches = {.rows = kRows / 4}})});
  return all;
}

TEST(Products, AreThoseOfLibTorch) {
  const c10::InferenceMode inference;
  const at::Tensor x = at::randn({kRows, kIn});
  for (const bool bias : {false, true}) {
    for (const Activation activation : {Activation::kNone, Activation::kGelu, Activation::kGeluTanh,
                                        Activation::kRelu, Activation::kSilu}) {
      const ProductParts parts = random_parts(bias, activation);
      const at::Tensor expected = expected_product(x, parts);
      for (const auto& [name, product] : all_products(parts)) {
        // On a CPU, at::_addmm_activation() computes the exact GELU in place of the tanh form.
        const double tolerance =
            name == "cuBLAS" && activation == Activation::kGeluTanh ? 1e-3 : 1e-5;
        EXPECT_LT(max_difference(product->multiply(x), expected), tolerance) << name;
        EXPECT_LT(max_difference(product->in_blocks(x), expected), tolerance) << name;
        EXPECT_TRUE(at::equal(product->multiply_for_fp8(x).rows, product->multiply(x))) << name;
        EXPECT_EQ(product->facts().out_features, kOut) << name;
        EXPECT_EQ(product->facts().operands, Operands::kPlain) << name;
      }
    }
  }
}

TEST(Products, AddTheResidual) {
  const c10::InferenceMode inference;
  const at::Tensor x = at::randn({kRows, kIn});
  const at::Tensor residual = at::randn({kRows, kOut});
  for (const bool bias : {false, true}) {
    const ProductParts parts = random_parts(bias);
    const at::Tensor expected = expected_product(x, parts).add(residual);
    for (const auto& [name, product] : all_products(parts)) {
      ResidualSum sum = product->add(x, residual.clone());
      EXPECT_LT(max_difference(sum.total(), expected), 1e-5) << name;
    }
  }
}

TEST(Products, OnACpuTakeAnyNumberOfRows) {
  const c10::InferenceMode inference;
  const ProductParts parts = random_parts(/*bias=*/true, Activation::kGelu);
  const at::Tensor x = at::randn({kRows, kIn});
  for (const auto& [name, product] : cpu_products(parts)) {
    EXPECT_EQ(product->facts().multiply, ProductCall::kInBlocks) << name;
    EXPECT_EQ(product->facts().add, ProductCall::kAddInBlocks) << name;
    const at::Tensor whole = product->multiply(x);
    for (const int64_t rows : {int64_t{1}, kProductBlockRows, kOneDnnRows, kOneDnnRows + 1}) {
      EXPECT_TRUE(at::equal(product->multiply(x.narrow(0, 9, rows)), whole.narrow(0, 9, rows)))
          << name << ", " << rows << " rows";
    }
  }
}

TEST(CublasProduct, AddsInPlaceUnlessThereIsABias) {
  const c10::InferenceMode inference;
  const at::Tensor x = at::randn({kRows, kIn});
  const at::Tensor residual = at::randn({kRows, kOut});
  const at::Tensor before = residual.clone();
  const auto biased = make_cublas_product(random_parts(/*bias=*/true), {});
  EXPECT_EQ(biased->facts().add, ProductCall::kWhole);
  EXPECT_TRUE(biased->add(x, residual).term.defined());
  EXPECT_TRUE(at::equal(residual, before));
  const auto plain = make_cublas_product(random_parts(/*bias=*/false), {});
  EXPECT_EQ(plain->facts().add, ProductCall::kAddInPlace);
  const ResidualSum sum = plain->add(x, residual);
  EXPECT_FALSE(sum.term.defined());
  EXPECT_EQ(sum.sum.data_ptr(), residual.data_ptr());
}

TEST(CublasProduct, LeavesThePrecisionOfTheProcessAsItWas) {
  const c10::InferenceMode inference;
  const auto product =
      make_cublas_product(random_parts(/*bias=*/false), {.format = ProductFormat::kFloat32High});
  const at::Tensor x = at::randn({8, kIn});
  product->multiply(x);
  EXPECT_EQ(at::globalContext().float32MatmulPrecision(), at::Float32MatmulPrecision::HIGHEST);
  product->add(x, at::randn({8, kOut}));
  EXPECT_EQ(at::globalContext().float32MatmulPrecision(), at::Float32MatmulPrecision::HIGHEST);
}

// The bits tell which implementation was chosen.
TEST(MakeProduct, PrefersTheProjectsKernelsToOneDnnAndOneDnnToLibTorch) {
  const c10::InferenceMode inference;
  for (const ProductFormat format : {ProductFormat::kFloat32, ProductFormat::kFloat32High,
                                     ProductFormat::kBFloat16, ProductFormat::kFloat16}) {
    ProductParts parts = random_parts(/*bias=*/false, Activation::kSilu);
    for (at::Tensor& weight : parts.weights) weight = weight.to(compute_type(format));
    std::shared_ptr<const Product> expected = make_cpu_kernel_product(parts, format);
    EXPECT_EQ(expected != nullptr, linear_kernel(format).has_value());
    if (!expected) expected = make_onednn_product(parts);
    if (!expected) expected = make_libtorch_product(parts);
    const at::Tensor x = at::randn({40, kIn}).to(compute_type(format));
    EXPECT_TRUE(
        at::equal(make_product(parts, {.format = format})->multiply(x), expected->multiply(x)));
  }
}

TEST(MakeProduct, QuantizesToInt8OnlyWithAKernelForIt) {
  const auto product = make_product(random_parts(/*bias=*/false), {.format = ProductFormat::kInt8});
  EXPECT_EQ(product->facts().operands,
            linear_kernel(ProductFormat::kInt8) ? Operands::kInt8 : Operands::kPlain);
}

// A dtype without its row in the table would get the products of another dtype.
TEST(ProductFormats, AreFoundByTheFactsInTheirTable) {
  for (size_t i = 0; i < kProductFormats.size(); ++i) {
    const ProductFormatFacts& facts = kProductFormats[i];
    EXPECT_EQ(format_of(facts.dtype, facts.precision), static_cast<ProductFormat>(i));
  }
  EXPECT_EQ(format_of(ComputeType::kBFloat16, MatmulPrecision::kHigh), ProductFormat::kBFloat16);
  EXPECT_EQ(facts_of(ProductFormat::kFp8).dtype, ComputeType::kFp8);
}

}  // namespace
}  // namespace encode
