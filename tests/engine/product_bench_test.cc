// Tests ProductBench, which times the matrix products of a forward pass. For a few tiny models, the
// expected numbers of flops are counted by hand. For every architecture the number must be above 0.
#include "engine/product_bench.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "batching/pack.h"
#include "load_for_test.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

constexpr int64_t kTokens = 512;  // a whole block, so that no slot is empty on any processor
constexpr int64_t kLength = 16;

// A model, and the timer of its matrix products.
struct Timed {
  testing::TestModel model;
  ProductBench bench;

  Timed(const std::string& name, PoolingMode pooling, int64_t threads = 1)
      : model(testing::open_test_model(name, with(pooling))),
        bench(model.directory, model.effective, on_cpu(threads)) {}

 private:
  static ResultOptions with(PoolingMode pooling) {
    ResultOptions options;
    options.pooling = pooling;
    return options;
  }
  static EncoderOptions on_cpu(int64_t threads) {
    EncoderOptions options;
    options.hardware.device = parse_device("cpu");
    options.threads = threads;
    return options;
  }
};

// Returns one batch of 32 rows of 16 tokens.
std::vector<PackedBatch> full_batch(const Timed& timed) {
  TokenizedRows rows;
  for (int64_t token = 1; token <= kTokens; ++token) {
    rows.ids.push_back(static_cast<int32_t>(token * 7919 % timed.model.directory.vocab_size));
    if (token % kLength != 0) continue;
    rows.end_row();
  }
  return pack({.ids = rows}, kTokens);
}

ProductRates rates(Timed&& timed) {
  return timed.bench.run(full_batch(timed), /*seconds=*/0.001, [] { return true; });
}

struct ByHand {
  const char* model;
  PoolingMode pooling;
  double weights;  // the number of weights that a token is multiplied with
};

class ProductsByHand : public ::testing::TestWithParam<ByHand> {};

TEST_P(ProductsByHand, AreTwoFlopsAWeightAToken) {
  EXPECT_DOUBLE_EQ(rates({GetParam().model, GetParam().pooling}).flops_per_token,
                   2 * GetParam().weights);
}

// The numbers of weights in a layer: query, key, value and output projection; up and down
// projection. The model has two layers with hidden size 64 and inner size 80.
constexpr double kBertProjections = 4 * 64 * 64;
constexpr double kBertMlp = 2 * 64 * 80;
INSTANTIATE_TEST_SUITE_P(
    Models, ProductsByHand,
    ::testing::Values(
        ByHand{"bert", PoolingMode::kMean, 2 * (kBertProjections + kBertMlp)},
        // After the last attention only the first token of 16 is computed, because cls pooling
        // needs no other.
        ByHand{"bert", PoolingMode::kCls,
               kBertProjections + kBertMlp + 3 * 64 * 64 + (64 * 64 + kBertMlp) / kLength},
        // The embeddings have width 24. There are four layers, which share two sets of weights.
        ByHand{"albert", PoolingMode::kMean, 24 * 32 + 4 * (4 * 32 * 32 + 2 * 32 * 48)},
        // There are two key-value heads for four heads. The MLP has a gate. There are two layers.
        ByHand{"qwen2", PoolingMode::kMean,
               2 * (64 * (64 + 2 * 32) + 64 * 64 + 64 * 2 * 80 + 80 * 64)},
        // One layer has a plain MLP. The other has a router to four experts, and a token uses two.
        ByHand{"nomic_bert_moe", PoolingMode::kMean,
               2 * 4 * 32 * 32 + 2 * 32 * 48 + 32 * 4 + 2 * (2 * 32 * 48)}));

TEST(Products, OfEveryArchitectureAreTimed) {
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::test_data("models"))) {
    const std::string name = entry.path().filename();
    const ProductRates found = rates({name, PoolingMode::kMean});
    EXPECT_GT(found.flops_per_token, 0) << name;
    EXPECT_GT(found.tokens_per_second, 0) << name;
    EXPECT_GT(found.square_flops_per_second, 0) << name;
    ++models;
  }
  EXPECT_GT(models, 30);
}

TEST(Products, AreTimedOnEveryThread) {
  const ProductRates found = rates({"bert", PoolingMode::kMean, 3});
  EXPECT_EQ(found.threads, 3);
  EXPECT_GT(found.tokens_per_cpu_second, 0);
}

TEST(Products, OfNoBatchAreNone) {
  const ProductRates found =
      Timed("bert", PoolingMode::kMean).bench.run({}, 0.001, [] { return true; });
  EXPECT_EQ(found, (ProductRates{.threads = 1}));
}

TEST(Products, OfAnIdOutsideTheVocabularyAreRefused) {
  Timed timed("bert", PoolingMode::kMean);
  std::vector<PackedBatch> batches = full_batch(timed);
  batches[0].input_ids[7] = static_cast<int32_t>(timed.model.directory.vocab_size);
  EXPECT_THROW(timed.bench.run(batches, 0.001, [] { return true; }), Error);
}

TEST(Products, EndEarlyWhereAskedTo) {
  Timed timed("bert", PoolingMode::kMean);
  std::atomic<int> asked = 0;
  timed.bench.run(full_batch(timed), /*seconds=*/3600, [&] { return ++asked < 3; });
  EXPECT_EQ(asked, 4) << "three times for the model, once for the large product";
}

}  // namespace
}  // namespace encode
