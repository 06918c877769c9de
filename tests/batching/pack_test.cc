#include "batching/pack.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace encode {
namespace {

TokenizedRows rows_of_lengths(const std::vector<int64_t>& lengths) {
  TokenizedRows rows;
  int32_t next = 0;
  for (const int64_t length : lengths) {
    for (int64_t i = 0; i < length; ++i) rows.ids.push_back(next++);
    rows.end_row();
  }
  return rows;
}

std::vector<int64_t> random_lengths(size_t count, int64_t longest) {
  std::mt19937_64 random(7);
  std::vector<int64_t> lengths(count);
  for (int64_t& length : lengths)
    length = static_cast<int64_t>(random() % static_cast<uint64_t>(longest + 1));
  return lengths;
}

TEST(Pack, EveryRowWithTokensIsInExactlyOneBatchWhole) {
  const std::vector<int64_t> lengths = random_lengths(500, 300);
  const TokenizedRows rows = rows_of_lengths(lengths);
  std::vector<int> seen(lengths.size());
  for (const PackedBatch& batch : pack({.ids = rows}, 512)) {
    for (size_t b = 0; b < batch.sequence_numbers.size(); ++b) {
      const auto row = static_cast<size_t>(batch.sequence_numbers[b]);
      ++seen[row];
      const std::span<const int32_t> ids = rows.row(batch.sequence_numbers[b]);
      const auto begin = batch.input_ids.begin() + batch.cu_seqlens[b];
      ASSERT_EQ(batch.cu_seqlens[b + 1] - batch.cu_seqlens[b], static_cast<int32_t>(ids.size()));
      EXPECT_TRUE(std::equal(ids.begin(), ids.end(), begin));
      for (size_t t = 0; t < ids.size(); ++t) {
        EXPECT_EQ(batch.position_ids[static_cast<size_t>(batch.cu_seqlens[b]) + t],
                  static_cast<int32_t>(t));
      }
    }
  }
  for (size_t row = 0; row < lengths.size(); ++row)
    EXPECT_EQ(seen[row], lengths[row] > 0 ? 1 : 0) << "row " << row;
}

TEST(Pack, GivesEveryTokenItsType) {
  const TokenizedRows rows = rows_of_lengths(random_lengths(100, 30));
  EXPECT_TRUE(pack({.ids = rows}, 64).front().type_ids.empty());
  std::vector<int32_t> types;
  for (const int32_t id : rows.ids) types.push_back(id % 3);
  for (const PackedBatch& batch : pack({.ids = rows, .type_ids = types}, 64)) {
    ASSERT_EQ(batch.type_ids.size(), batch.input_ids.size());
    for (size_t t = 0; t < batch.input_ids.size(); ++t)
      EXPECT_EQ(batch.type_ids[t], batch.input_ids[t] % 3);
  }
}

TEST(Pack, NoBatchExceedsItsCapacity) {
  for (const PackedBatch& batch : pack({.ids = rows_of_lengths(random_lengths(300, 2000))}, 512)) {
    const int64_t capacity = (batch.max_seqlen + 511) / 512 * 512;
    EXPECT_LE(batch.tokens(), capacity);
    EXPECT_EQ(batch.cu_seqlens.back(), batch.tokens());
  }
}

TEST(Pack, FillsBatchesOfMixedLengthsToTheBrim) {
  const std::vector<int64_t> lengths = random_lengths(1000, 256);
  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  const size_t batches = best_fit(lengths, 512).size();
  EXPECT_LT(static_cast<double>(batches * 512), 1.02 * static_cast<double>(tokens) + 512);
}

// A GPU has room for so many tokens that a batch of short rows would exceed the grid of a kernel.
TEST(Pack, NoBatchHasMoreSequencesThanACudaGridHasBlocks) {
  constexpr int64_t kRows = 2 * kMostSequences + 5;
  const auto batches = best_fit(std::vector<int64_t>(kRows, 1), 1 << 20);
  ASSERT_EQ(batches.size(), 3U);
  std::vector<int> packed(kRows, 0);
  for (const std::vector<int64_t>& members : batches) {
    EXPECT_LE(std::ssize(members), kMostSequences);
    for (const int64_t row : members) ++packed[static_cast<size_t>(row)];
  }
  EXPECT_EQ(std::count(packed.begin(), packed.end(), 1), kRows) << "each row once";
}

TEST(Pack, LongestBatchComesFirst) {
  const std::vector<int64_t> lengths = {3, 700, 5, 40, 1};
  const auto batches = best_fit(lengths, 512);
  EXPECT_EQ(batches.front().front(), 1);
}

TEST(Pack, NothingComesOfNothing) {
  EXPECT_TRUE(pack({.ids = rows_of_lengths({})}, 512).empty());
  EXPECT_TRUE(pack({.ids = rows_of_lengths({0, 0})}, 512).empty());
}

}  // namespace
}  // namespace encode
