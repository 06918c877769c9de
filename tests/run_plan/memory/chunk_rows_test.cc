// Tests what `chunk_size: auto` promises: a kill loses a minute of work at most, and commits take
// little time.
#include "run_plan/memory/chunk_rows.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace encode {
namespace {

constexpr int64_t kManyRows = 1'000'000;

int64_t chunk(double row_seconds, double commit_seconds, int64_t rows = kManyRows) {
  return auto_chunk_rows(
      {.rows = rows, .row_seconds = row_seconds, .commit_seconds = commit_seconds});
}

TEST(ChunkSize, FollowsTheTimeOfARowAndOfACommit) {
  EXPECT_EQ(chunk(0.01, 0.01), 500);  // between 1 s and 30 s: 5.5 s
  EXPECT_EQ(chunk(0.0001, 0.01), 50'000);
  EXPECT_EQ(chunk(0.01, 0.1), 1000);  // between 10 s and 30 s: 17 s
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

}  // namespace
}  // namespace encode
