// Compares whole models in fp8 with the same models in float32, on CPU. Users get fp8 only on GPUs,
// which multiply the same quantized values.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

#include <ATen/ops/cosine_similarity.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "encode/tokenizer.h"

#include "batching/pack.h"
#include "loaded_model.h"
#include "nn/layers/pooling.h"
#include "npy_tensor.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::LoadedModel;
using testing::test_data;

struct Parity {
  std::vector<double> cosines;  // one for each text
  double least() const { return *std::min_element(cosines.begin(), cosines.end()); }
  double mean() const {
    double sum = 0;
    for (const double cosine : cosines) sum += cosine;
    return sum / static_cast<double>(cosines.size());
  }
};

// Compares the mean-pooled embeddings of the model with `expected`, [rows, width] float32.
Parity parity_of(const LoadedModel& model, const std::vector<PackedBatch>& batches,
                 const at::Tensor& expected) {
  const c10::InferenceMode inference;
  Parity parity;
  for (const PackedBatch& batch : batches) {
    const at::Tensor pooled =
        pool(model.forward(batch).contiguous(), to_device(batch, batch.tokens(), at::kCPU),
             {PoolingMode::kMean});
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const auto row = static_cast<int64_t>(b);
      parity.cosines.push_back(
          at::cosine_similarity(pooled[row], expected[batch.sequence_numbers[b]], 0)
              .item<double>());
    }
  }
  return parity;
}

// Uses 40 of 100 real texts and their embeddings by sentence-transformers (tests/data/README.md).
TEST(Fp8Parity, MiniLmKeepsTheDirectionOfItsVectors) {
  const std::string folder = testing::source_file(".deps/models/all-MiniLM-L6-v2");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no demo model: run scripts/models.sh";
  const auto tokenizer = load_tokenizer_from_directory(folder);
  TokenizedRows rows;
  std::istringstream lines(testing::read_bytes(test_data("minilm/texts.jsonl")));
  for (std::string line; rows.size() < 40 && std::getline(lines, line);)
    tokenizer->encode(Json::parse(line)["text"].get<std::string>(), {.max_length = 256}, rows);

  const LoadedModel model(folder, ProductFormat::kFp8);
  EXPECT_EQ(model.fp8().quantized, 24);
  EXPECT_EQ(model.fp8().kept, 0);
  const Parity parity = parity_of(model, pack({.ids = rows}, 512),
                                  testing::load_npy(test_data("minilm/embeddings.npy")));
  ASSERT_EQ(parity.cosines.size(), 40U);
  RecordProperty("cosines", fmt::format("{:f} {:f}", parity.mean(), parity.least()));
  EXPECT_GE(parity.mean(), 0.99);
  EXPECT_GE(parity.least(), 0.98);
  EXPECT_LE(parity.mean(), 0.9999) << "the products were not of 8-bit floats";
}

// Uses the narrow random models of the other tests. Their matrix products add few numbers, so
// rounding errors cancel less than in a real model. The parameter is a folder of tests/data/models.
class Fp8Models : public ::testing::TestWithParam<const char*> {};

TEST_P(Fp8Models, KeepTheDirectionOfTheirVectors) {
  const c10::InferenceMode inference;
  const std::string name = GetParam();
  const PackedBatch batch = testing::pack_sequences(name, testing::all_rows(name));
  const std::string folder = test_data("models/" + name);
  const at::Tensor expected =
      pool(LoadedModel(folder, ProductFormat::kFloat32).forward(batch).contiguous(),
           to_device(batch, batch.tokens(), at::kCPU), {PoolingMode::kMean});
  const LoadedModel model(folder, ProductFormat::kFp8);
  EXPECT_GT(model.fp8().quantized, 0);
  const Parity parity = parity_of(model, {batch}, expected);
  RecordProperty("cosines", fmt::format("{:f} {:f}", parity.mean(), parity.least()));
  EXPECT_GE(parity.least(), 0.97);
  EXPECT_LE(parity.mean(), 0.99999) << "the products were not of 8-bit floats";
}

INSTANTIATE_TEST_SUITE_P(Tiny, Fp8Models,
                         ::testing::Values("bert", "modernbert", "deberta_v2", "t5_gated", "qwen2",
                                           "qwen3", "gemma3", "gte_new", "nomic_bert_moe"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace encode
