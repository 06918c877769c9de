// Every reference model on the stand-in's device against the CPU.
#include <iostream>

#include <gtest/gtest.h>

#include "vectors.h"

namespace encode {
namespace {

constexpr testing::TestRows kRows = testing::kRowsOfAnyModel;

class ReferenceModel : public ::testing::TestWithParam<std::string> {};

TEST_P(ReferenceModel, GivesTheVectorsOfTheCpu) {
  const testing::Vectors expected =
      testing::encode_on("cpu", {GetParam(), ComputeType::kFloat32}, kRows);
  const testing::Vectors float32 =
      testing::encode_on("cuda", {GetParam(), ComputeType::kFloat32}, kRows);
  const testing::Vectors bfloat16 =
      testing::encode_on("cuda", {GetParam(), ComputeType::kBFloat16}, kRows);
  const double largest = float32.largest_difference(expected);
  const double lowest = bfloat16.lowest_cosine(expected);
  std::cout << GetParam() << ": float32 differs by " << largest << ", bfloat16 has cosine "
            << lowest << "\n";
  EXPECT_LE(largest, 1e-5);
  EXPECT_GE(lowest, testing::least_bfloat16_cosine(GetParam()));
}

TEST(TokenTypes, GiveTheVectorsOfTheCpu) {
  constexpr testing::TestRows kTyped = {
      .count = 24, .max_tokens = 16, .launch_tokens = 256, .typed = true};
  for (const char* model : {"bert", "nomic_bert"}) {
    const testing::TestModelChoice choice = {model, ComputeType::kFloat32};
    const testing::Vectors expected = testing::encode_on("cpu", choice, kTyped);
    EXPECT_LE(testing::encode_on("cuda", choice, kTyped).largest_difference(expected), 1e-5);
    EXPECT_GT(testing::encode_on("cuda", choice, kRows).largest_difference(expected), 1e-3);
  }
}

TEST(Spans, GiveTheVectorsOfTheCpu) {
  constexpr testing::TestRows kSpans = {
      .count = 24, .max_tokens = 16, .launch_tokens = 256, .spans = true};
  for (const char* model : {"bert", "qwen2"}) {
    const testing::Vectors expected =
        testing::encode_on("cpu", {model, ComputeType::kFloat32}, kSpans);
    const testing::Vectors float32 =
        testing::encode_on("cuda", {model, ComputeType::kFloat32}, kSpans);
    EXPECT_LE(float32.largest_difference(expected), 1e-5);
    EXPECT_GE(
        testing::encode_on("cuda", {model, ComputeType::kBFloat16}, kSpans).lowest_cosine(expected),
        testing::least_bfloat16_cosine(model));
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceModel, ::testing::ValuesIn(testing::reference_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace encode
