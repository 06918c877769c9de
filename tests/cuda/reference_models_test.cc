// Every reference model on the stand-in's device against the CPU.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include <gtest/gtest.h>

#include "encode/encoder.h"

#include "batching/pack.h"
#include "load_for_test.h"
#include "random_rows.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

constexpr int64_t kRows = 24;
constexpr int64_t kLaunchTokens = 256;
constexpr int64_t kMaxTokens = 16;  // of a row; llama_rope_dynamic takes no longer ones

std::vector<std::string> reference_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(testing::test_data("models")))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Unit vectors of the same rows, [kRows, dim].
struct Vectors {
  std::vector<float> values;
  size_t dim = 0;

  double cosine(const Vectors& other, size_t row) const {
    double sum = 0;
    for (size_t i = row * dim; i < (row + 1) * dim; ++i)
      sum += static_cast<double>(values[i]) * other.values[i];
    return sum;
  }
};

Vectors encode_on(const std::string& model, const std::string& device, ComputeType dtype) {
  ResultOptions result;
  result.dtype = dtype;
  result.normalize = true;
  testing::TestModel opened = testing::open_test_model(model, result);
  opened.effective.launch_tokens = kLaunchTokens;
  EncoderOptions options;
  options.hardware.device = device;
  const auto encoder = testing::load_test_encoder(opened, options);
  Vectors vectors;
  vectors.dim = static_cast<size_t>(encoder->dim());
  vectors.values.resize(static_cast<size_t>(kRows) * vectors.dim);
  EXPECT_TRUE(encoder->encode(pack(testing::random_rows(kRows, kMaxTokens), kLaunchTokens, 0),
                              vectors.values, [](const PackedBatch&) { return true; }));
  return vectors;
}

class ReferenceModel : public ::testing::TestWithParam<std::string> {};

TEST_P(ReferenceModel, GivesTheVectorsOfTheCpu) {
  const Vectors expected = encode_on(GetParam(), "cpu", ComputeType::kFloat32);
  const Vectors float32 = encode_on(GetParam(), "cuda", ComputeType::kFloat32);
  double largest = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    ASSERT_TRUE(std::isfinite(float32.values[i])) << i;
    largest =
        std::max(largest, std::abs(static_cast<double>(expected.values[i]) - float32.values[i]));
  }
  const Vectors bfloat16 = encode_on(GetParam(), "cuda", ComputeType::kBFloat16);
  const TokenizedRows rows = testing::random_rows(kRows, kMaxTokens);
  double lowest = 1;
  for (int64_t row = 0; row < kRows; ++row) {
    if (rows.row(row).empty()) continue;
    const double cosine = bfloat16.cosine(expected, static_cast<size_t>(row));
    ASSERT_TRUE(std::isfinite(cosine)) << row;
    lowest = std::min(lowest, cosine);
  }
  std::cout << GetParam() << ": float32 differs by " << largest << ", bfloat16 has cosine "
            << lowest << "\n";
  EXPECT_LE(largest, 1e-5);
  EXPECT_GE(lowest, 0.999);
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceModel, ::testing::ValuesIn(reference_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace encode
