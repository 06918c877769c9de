// Tests what `chunk_size: auto` promises: a kill loses a minute of work at most, and commits take
// little time. Tests also how many rows a kill loses.
#include "run_plan/memory/chunk_rows.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_plan/memory/shapes.h"

namespace encode {
namespace {

constexpr int64_t kManyRows = 1'000'000;

int64_t chunk(double row_seconds, double commit_seconds, int64_t rows = kManyRows) {
  return auto_chunk_rows(
      {.rows = rows, .row_seconds = row_seconds, .commit_seconds = commit_seconds});
}

TEST(ChunkSize, FollowsTheTimeOfARowAndOfACommit) {
  // The geometric mean of 1 s (100 commits) and 30 s is 5.5 s, so 547 rows, rounded down.
  EXPECT_EQ(chunk(0.01, 0.01), 500);
  EXPECT_EQ(chunk(0.0001, 0.01), 50'000);
  EXPECT_EQ(chunk(0.01, 0.1), 1000);  // between 10 s and 30 s: 17 s, so 1,732 rows
  EXPECT_EQ(chunk(0.01, 2), 2000);    // a minute counts more than the share of the commits
  EXPECT_EQ(chunk(100, 0.01), 1);     // a row takes longer than a chunk may
}

TEST(ChunkSize, ManyRowsGetLargerChunksWithinTheMinute) {
  EXPECT_EQ(chunk(0.01, 0.01, 40'000'000), 2000);
  EXPECT_EQ(chunk(0.001, 0.01, 400'000'000), 20'000);
}

TEST(ChunkSize, KeepsBothPromisesForAnySpeed) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-7, 2);
  for (int round = 0; round < 2000; ++round) {
    const ChunkFacts facts = {.rows = static_cast<int64_t>(random() % 100'000'000),
                              .row_seconds = std::pow(10, exponent(random)),
                              .commit_seconds = std::pow(10, exponent(random) - 3)};
    const int64_t rows = auto_chunk_rows(facts);
    const double seconds = static_cast<double>(rows) * facts.row_seconds;
    ASSERT_GE(rows, 1);
    ASSERT_TRUE(rows == 1 || 2 * seconds <= kMostLostSeconds) << rows << " rows, " << seconds;
    // Rounding to 1, 2 or 5 takes at most 60 % away, and the last row may be half a minute.
    const double cheap = facts.commit_seconds / kMostCommitShare;
    if (cheap < 0.4 * 0.4 * kMostLostSeconds / 2 && facts.row_seconds < 0.1) {
      ASSERT_GE(seconds, cheap) << rows << " rows";
    }
  }
}

TEST(ChunkSize, GrowsWithTheSpeedAndWithTheTimeOfACommit) {
  int64_t before = 1;
  for (double row_seconds = 100; row_seconds > 1e-9; row_seconds /= 1.3) {
    const int64_t rows = chunk(row_seconds, 0.01);
    ASSERT_GE(rows, before);
    before = rows;
  }
  EXPECT_LE(before, 1'000'000'000) << "the limit of the config";
  before = 1;
  for (double commit_seconds = 1e-5; commit_seconds < 100; commit_seconds *= 1.3) {
    const int64_t rows = chunk(0.001, commit_seconds);
    ASSERT_GE(rows, before);
    before = rows;
  }
}

MemoryRequest request_of(int64_t chunk_rows, int64_t rows, int64_t tokens_of_row) {
  MemoryRequest request = testing::cpu_request_for(testing::kBertBase);
  request.chunk_rows = chunk_rows;
  request.texts = {.rows = rows,
                   .tokens = rows * tokens_of_row,
                   .text_bytes = rows * tokens_of_row * 4,
                   .longest_row_tokens = tokens_of_row};
  return request;
}

TEST(LostRows, AreTheRowsOfTwoWindowsIfChunksAreSmall) {
  for (const int64_t chunk : {1, 7, 50, 400}) {
    const MemoryRequest request = request_of(chunk, kManyRows, 100);
    ASSERT_GE(largest_window(request).rows, chunk);
    EXPECT_EQ(most_lost_rows(request), 2 * largest_window(request).rows) << chunk;
  }
}

TEST(LostRows, AreTheRowsOfTwoChunksIfChunksAreLarge) {
  EXPECT_EQ(most_lost_rows(request_of(200'000, kManyRows, 100)), 400'000);
}

// A window of 4,096 rows may begin in one chunk and end in the next one.
TEST(LostRows, AreMoreIfAChunkIsALittleLargerThanAWindow) {
  const MemoryRequest request = request_of(5000, kManyRows, 1);
  EXPECT_GE(most_lost_rows(request), 5000 + 2 * largest_window(request).rows);
}

TEST(LostRows, AreNeverMoreThanTheRowsOfTheInput) {
  EXPECT_EQ(most_lost_rows(request_of(1000, 30, 100)), 30);
  EXPECT_EQ(most_lost_rows(request_of(200'000, 200'001, 100)), 200'001);
}

// An earlier version made a single chunk of 1,000 long rows, so a kill lost the whole run.
TEST(LostRows, AreASmallPartOfASmallRunWithTheDefault) {
  const int64_t rows = 1000;
  EXPECT_LE(most_lost_rows(request_of(StoreOptions().chunk_rows(rows), rows, 500)), rows / 10);
}

TEST(LostRows, AreDescribedWithTheirTimeIfItIsKnown) {
  EXPECT_EQ(describe_loss(2000, 3.2), "a kill loses at most 2,000 rows, about 3.20 s of work");
  EXPECT_EQ(describe_loss(1, 0), "a kill loses at most 1 row");
}

}  // namespace
}  // namespace encode
