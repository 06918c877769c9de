// Tests how the tiers work together.
#include "cache/embedding_cache.h"

#include <gtest/gtest.h>

#include "known_rows.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr int64_t kDim = 100;

EmbeddingCacheOptions options(const TempDir& dir, int64_t memory_bytes) {
  return {.dir = dir.file("cache"), .memory_bytes = memory_bytes, .disk_bytes = 50'000'000};
}

void put(EmbeddingCache& cache, int64_t row) {
  const std::vector<float> values = known_values(row, kDim);
  cache.put({.key = known_key(row), .values = values});
}

TEST(EmbeddingCache, FindsARowBeforeItIsOnDisk) {
  const TempDir dir;
  EmbeddingCache cache(options(dir, 0));
  put(cache, 1);
  EXPECT_EQ(ask(cache, 1, kDim), Answer::kRight);
  EXPECT_GT(cache.unwritten_bytes(), 0);
  cache.write();
  EXPECT_EQ(cache.unwritten_bytes(), 0);
  EXPECT_EQ(ask(cache, 1, kDim), Answer::kRight);
  const CacheCounts counts = cache.take_counts();
  EXPECT_EQ(counts.compact_hits, 1);
  EXPECT_EQ(counts.disk_hits, 1);
}

TEST(EmbeddingCache, ARowMovesFromTierToTier) {
  const TempDir dir;
  EmbeddingCache cache(options(dir, 100'000));
  for (int64_t row = 0; row < 400; ++row) put(cache, row);
  cache.write();
  for (int64_t row = 399; row >= 0; --row) ASSERT_EQ(ask(cache, row, kDim), Answer::kRight) << row;
  const CacheCounts counts = cache.take_counts();
  EXPECT_GT(counts.row_hits, 10);
  EXPECT_GT(counts.compact_hits, 50);
  EXPECT_GT(counts.disk_hits, 100);
  EXPECT_EQ(counts.hits(), 400);
  EXPECT_EQ(counts.hit_rate(), 1);
  EXPECT_LE(counts.row_bytes + counts.compact_bytes, 100'000);
  EXPECT_EQ(cache.take_counts().requests, 0) << "counts are taken once";
}

TEST(EmbeddingCache, ShrinksAndGrowsAgain) {
  const TempDir dir;
  EmbeddingCache cache(options(dir, 400'000));
  add_rows(cache, 0, 400, kDim);
  EXPECT_GT(cache.shrink_to(400'000), 100'000);
  EXPECT_LE(cache.shrink_to(50'000), 50'000);
  EXPECT_EQ(cache.shrink_to(0), 0);
  EXPECT_EQ(cache.shrink_to(1 << 30), 0) << "the limit is the configured one again";
  for (int64_t row = 0; row < 400; ++row) EXPECT_EQ(ask(cache, row, kDim), Answer::kRight);
  EXPECT_LE(cache.shrink_to(1 << 30), 400'000);
}

TEST(EmbeddingCache, ARowOfAnotherSizeIsMissing) {
  const TempDir dir;
  EmbeddingCache cache(options(dir, 100'000));
  add_rows(cache, 0, 1, kDim);
  EXPECT_EQ(ask(cache, 0, kDim + 1), Answer::kMissing);
}

}  // namespace
}  // namespace encode::testing
