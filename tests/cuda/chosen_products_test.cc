// Matrix products with chosen algorithms on the stand-in, whose plugin has algorithms that are bad
// in several ways (fake_products.h).
#include <dlfcn.h>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_plugin.h"
#include "fake_products.h"
#include "nn/cuda/cuda_device.h"
#include "nn/cuda/product_search.h"
#include "search_each_product.h"
#include "vectors.h"

namespace encode {
namespace {

constexpr testing::TestRows kRows = testing::kRowsOfAnyModel;

class ChosenProducts : public ::testing::TestWithParam<std::string> {};

TEST_P(ChosenProducts, GiveTheVectorsOfTheCpu) {
  const testing::Vectors expected =
      testing::encode_on("cpu", {GetParam(), ComputeType::kFloat32}, kRows);
  const auto encoder =
      testing::load_on("cuda", {GetParam(), ComputeType::kFloat32, testing::search_each_product},
                       kRows.launch_tokens);
  EXPECT_EQ(encoder->device().products.size(), 32U);
  EXPECT_LE(testing::encode_with(*encoder, kRows).largest_difference(expected), 1e-5);
  const testing::Vectors bfloat16 = testing::encode_on(
      "cuda", {GetParam(), ComputeType::kBFloat16, testing::search_each_product}, kRows);
  EXPECT_GE(bfloat16.lowest_cosine(expected), testing::least_bfloat16_cosine(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, ChosenProducts, ::testing::ValuesIn(testing::reference_models()),
                         [](const auto& model) { return model.param; });

// Loads a model and returns the request for its products with the findings of the search.
struct Searched {
  std::vector<ProductShape> shapes;
  std::vector<ProductFinding> findings;
  std::string hash;
};

Searched search_products_of(const std::string& model, ComputeType dtype) {
  Searched searched;
  const auto choose = [&searched](const ProductRequest& request) {
    searched.shapes = request.shapes;
    return searched.findings = testing::search_each_product(request);
  };
  searched.hash =
      testing::load_on("cuda", {model, dtype, choose}, kRows.launch_tokens)->device().products;
  return searched;
}

class ProductSearch : public ::testing::TestWithParam<ComputeType> {};

TEST_P(ProductSearch, DropsBadAlgorithmsAndTakesTheFastest) {
  const Searched searched = search_products_of("bert", GetParam());
  ASSERT_FALSE(searched.findings.empty());
  for (const ProductFinding& finding : searched.findings) {
    EXPECT_EQ(finding.suggestions, testing::kFakeAlgorithms);
    EXPECT_EQ(finding.failed, 1);
    EXPECT_EQ(finding.wrong, 1);
    EXPECT_EQ(finding.unequal_rows, 1);
    ASSERT_TRUE(finding.algorithm);
    EXPECT_EQ(finding.algorithm->at(0), testing::kFakeBest);
    EXPECT_FLOAT_EQ(finding.milliseconds, 2);
    EXPECT_FLOAT_EQ(finding.first_milliseconds, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ProductSearch,
                         ::testing::Values(ComputeType::kFloat32, ComputeType::kBFloat16,
                                           ComputeType::kFloat16),
                         [](const auto& type) { return std::string(to_string(type.param)); });

// BERT's output products have a bias and a residual; its GELU is the one with erf, which cuBLASLt
// does not have.
TEST(ProductShapes, OfBertHaveTheBiasAndTheResidual) {
  std::vector<std::string> names;
  for (const ProductShape& shape : search_products_of("bert", ComputeType::kBFloat16).shapes)
    names.push_back(to_string(shape));
  EXPECT_THAT(names, ::testing::Contains("256 x 64 x 64 bfloat16, bias, residual"));
  EXPECT_THAT(names, ::testing::Contains("256 x 64 x 192 bfloat16, bias"));
  EXPECT_THAT(names, ::testing::Each(::testing::Not(::testing::HasSubstr("gelu"))));
}

TEST(ProductShapes, AreTheSameEachTime) {
  const Searched first = search_products_of("qwen2", ComputeType::kBFloat16);
  const Searched second = search_products_of("qwen2", ComputeType::kBFloat16);
  EXPECT_EQ(first.shapes, second.shapes);
  EXPECT_EQ(first.hash, second.hash);
}

// Returns how many products the plugin has computed.
int64_t products_computed() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string plugin = program.parent_path() / "../lib/libencode_cuda.so";
  void* const handle = ::dlopen(plugin.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto ask = reinterpret_cast<decltype(&encode_cuda_calls)>(
      handle != nullptr ? ::dlsym(handle, "encode_cuda_calls") : nullptr);
  return ask != nullptr ? ask("product") : 0;
}

// The search sees one short batch. If a larger batch had products of another shape, LibTorch would
// compute them, and the plugin fewer.
TEST(ProductShapes, OfAShortBatchAreThoseOfEveryBatch) {
  for (const std::string model : {"bert", "qwen2", "deberta_v2", "t5", "modernbert"}) {
    const auto encoder = testing::load_on(
        "cuda", {model, ComputeType::kFloat32, testing::search_each_product}, kRows.launch_tokens);
    const auto products_of = [&](int64_t rows) {
      const int64_t before = products_computed();
      testing::encode_with(*encoder, {.count = rows, .max_tokens = 16, .launch_tokens = 256});
      return products_computed() - before;
    };
    EXPECT_GT(products_of(2), 0) << model;
    EXPECT_EQ(products_of(2), products_of(24)) << model;
  }
}

TEST(ProductChoice, WithoutAnAlgorithmIsLibTorchsProduct) {
  const auto none = [](const ProductRequest& request) {
    return std::vector<ProductFinding>(request.shapes.size());
  };
  const testing::Vectors plain = testing::encode_on("cuda", {"bert", ComputeType::kFloat32}, kRows);
  const auto without =
      testing::load_on("cuda", {"bert", ComputeType::kFloat32, none}, kRows.launch_tokens);
  EXPECT_EQ(without->device().products, "");
  EXPECT_EQ(testing::encode_with(*without, kRows).values, plain.values);
  const testing::Vectors chosen = testing::encode_on(
      "cuda", {"bert", ComputeType::kFloat32, testing::search_each_product}, kRows);
  EXPECT_NE(plain.values, chosen.values) << "the fake algorithm adds in another order";
}

TEST(ProductChoice, GivesARowTheSameBitsInEveryBatch) {
  const auto encoder = testing::load_on(
      "cuda", {"bert", ComputeType::kFloat32, testing::search_each_product}, kRows.launch_tokens);
  testing::TestRows rows = kRows;
  const testing::Vectors expected = testing::encode_with(*encoder, rows);
  for (const int64_t tokens : {40, 128, 1000}) {
    rows.launch_tokens = tokens;  // the budget of a batch
    EXPECT_EQ(testing::encode_with(*encoder, rows).values, expected.values) << tokens;
  }
}

TEST(ProductCheck, RefusesAnAlgorithmOfAnotherVersion) {
  search_products_of("bert", ComputeType::kFloat32);  // opens the device
  const ProductShape shape = {.rows = 64, .in_features = 64, .out_features = 64};
  const ProductAlgorithm zeros = {};
  EXPECT_FALSE(can_compute(*plugin_products(), shape, zeros, at::Device(at::kCUDA, 0)));
  const ProductFinding finding =
      search_product(*plugin_products(), shape, at::Device(at::kCUDA, 0));
  ASSERT_TRUE(finding.algorithm);
  EXPECT_TRUE(can_compute(*plugin_products(), shape, *finding.algorithm, at::Device(at::kCUDA, 0)));
}

}  // namespace
}  // namespace encode
