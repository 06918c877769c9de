// Counts how often the host waits for the device, and how often the allocator asks the device for
// memory, after a first pass has filled the allocator's cache. An unneeded wait in a batch would
// leave the GPU idle.
#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

#include "encode/encoder.h"

#include "batching/pack.h"
#include "counts.h"
#include "load_for_test.h"
#include "random_rows.h"

namespace encode {
namespace {

constexpr int64_t kLaunchTokens = 1024;

class SteadyState : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    testing::TestModel opened = testing::open_test_model(GetParam(), {});
    opened.effective.launch_tokens = kLaunchTokens;
    EncoderOptions options;
    options.hardware.device = parse_device("cuda");
    encoder_ = testing::load_test_encoder(opened, options);
    ASSERT_GT(counts().launches, 0) << "the stand-in was not opened";
  }

  // Encodes the batches, which have `rows` rows in total, twice. Returns the counts of the second
  // pass.
  CudaStandInCounts steady(const std::vector<PackedBatch>& batches, int64_t rows) {
    std::vector<float> out(static_cast<size_t>(rows * encoder_->dim()));
    const auto all = [](const PackedBatch&) { return true; };
    EXPECT_TRUE(encoder_->encode(batches, out, all));
    const CudaStandInCounts before = counts();
    EXPECT_TRUE(encoder_->encode(batches, out, all));
    return counts() - before;
  }

  // The mixture of experts in one layer of nomic_bert_moe needs a wait in each batch, to read how
  // many tokens each expert has.
  static int64_t waits_per_batch() {
    return GetParam() == std::string_view("nomic_bert_moe") ? 2 : 1;
  }

  std::unique_ptr<Encoder> encoder_;
};

TEST_P(SteadyState, ABatchWaitsOnceAndTakesNoNewMemory) {
  constexpr int64_t kRows = 400;
  const std::vector<PackedBatch> batches =
      pack({.ids = testing::random_rows(kRows)}, kLaunchTokens);
  ASSERT_GE(batches.size(), 5U);
  const CudaStandInCounts counted = steady(batches, kRows);
  // The host waits for one event in each batch, and for the device at the end.
  EXPECT_EQ(counted.waits, waits_per_batch() * static_cast<int64_t>(batches.size()) + 1);
  EXPECT_EQ(counted.device_allocations, 0);
  EXPECT_EQ(counted.pinned_allocations, 0);
}

// The end of a window waits for nothing if the next one has begun.
TEST_P(SteadyState, AWindowIsNoReasonToWait) {
  constexpr int64_t kRows = 400;
  const std::vector<PackedBatch> batches =
      pack({.ids = testing::random_rows(kRows)}, kLaunchTokens);
  std::vector<float> out(static_cast<size_t>(kRows * encoder_->dim()));
  const auto all = [](const PackedBatch&) { return true; };
  const auto same = [&batches] { return std::span(batches); };
  EXPECT_TRUE(encoder_->encode_ahead(batches, out, all, same));
  EXPECT_TRUE(encoder_->encode_ahead(batches, out, all, same));
  const CudaStandInCounts before = counts();
  EXPECT_TRUE(encoder_->encode_ahead(batches, out, all, same));
  const CudaStandInCounts counted = counts() - before;
  EXPECT_EQ(counted.waits, waits_per_batch() * static_cast<int64_t>(batches.size()));
  EXPECT_EQ(counted.device_allocations, 0);
  EXPECT_EQ(counted.pinned_allocations, 0);
}

TEST_P(SteadyState, LaunchesDoNotGrowWithTheRowsOfABatch) {
  // An expert without tokens is left out, and an expert with many tokens takes several launches.
  const int64_t of_experts = GetParam() == std::string_view("nomic_bert_moe") ? 40 : 0;
  const auto launches_of = [this](int64_t rows) {
    return steady(pack({.ids = testing::random_rows(rows)}, kLaunchTokens), rows).launches;
  };
  EXPECT_LE(std::abs(launches_of(32) - launches_of(4)), of_experts);
}

INSTANTIATE_TEST_SUITE_P(Models, SteadyState,
                         ::testing::Values("bert", "qwen2", "modernbert", "mpnet", "t5",
                                           "jina_bert", "deberta_v2", "gemma2", "nomic_bert_moe"));

}  // namespace
}  // namespace encode
