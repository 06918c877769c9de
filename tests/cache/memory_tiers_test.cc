// Tests the two tiers in memory: their size limits, and what they evict.
#include "cache/memory_tiers.h"

#include <vector>

#include <gtest/gtest.h>

#include "known_rows.h"

namespace encode::testing {
namespace {

constexpr int64_t kDim = 100;

template <typename Tier>
void put(Tier& tier, int64_t row) {
  const std::vector<float> values = known_values(row, kDim);
  tier.put({.key = known_key(row), .values = values});
}

TEST(RowTier, StaysBelowItsLimitAndEvictsEachRowOnce) {
  int64_t evicted = 0;
  RowTier tier(10'000, [&](const CachedRow&) { ++evicted; });
  for (int64_t row = 0; row < 100; ++row) {
    put(tier, row);
    EXPECT_LE(tier.bytes(), 10'000);
  }
  EXPECT_GT(tier.rows(), 10);
  EXPECT_EQ(tier.rows() + evicted, 100);
}

TEST(RowTier, KeepsARowThatIsUsed) {
  RowTier tier(10'000, [](const CachedRow&) {});
  put(tier, 0);
  for (int64_t row = 1; row < 100; ++row) {
    put(tier, row);
    ASSERT_TRUE(tier.find(known_key(0))) << row;
  }
  EXPECT_FALSE(tier.find(known_key(1))) << "the control: a row that is not used";
}

TEST(RowTier, GivesBackTheValues) {
  RowTier tier(100'000, [](const CachedRow&) {});
  for (int64_t row = 0; row < 50; ++row) put(tier, row);
  for (int64_t row = 0; row < 50; ++row) {
    const auto found = tier.find(known_key(row));
    ASSERT_TRUE(found);
    EXPECT_EQ(std::vector<float>(found->values.begin(), found->values.end()),
              known_values(row, kDim));
  }
}

TEST(RowTier, ALowerLimitEvicts) {
  RowTier tier(100'000, [](const CachedRow&) {});
  for (int64_t row = 0; row < 50; ++row) put(tier, row);
  tier.set_limit(5000);
  EXPECT_LE(tier.bytes(), 5000);
  tier.set_limit(0);
  EXPECT_EQ(tier.bytes(), 0);
  put(tier, 1);
  EXPECT_EQ(tier.rows(), 0);
}

TEST(RecordTier, StaysBelowItsLimitAndDropsTheOldest) {
  RecordTier tier(40'000, 4096);
  for (int64_t row = 0; row < 200; ++row) {
    put(tier, row);
    EXPECT_LE(tier.bytes(), 40'000);
  }
  EXPECT_FALSE(tier.find(known_key(0)));
  const auto record = tier.find(known_key(199));
  ASSERT_TRUE(record);
  EXPECT_EQ(read_record(*record)->key, known_key(199));
  EXPECT_GT(tier.rows(), 50);
}

TEST(RecordTier, LeavesOutWhatIsLargerThanItsLimit) {
  RecordTier tier(300, 4096);
  put(tier, 1);
  EXPECT_EQ(tier.rows(), 0);
  EXPECT_EQ(tier.bytes(), 0);
}

TEST(RecordTier, BlocksHoldAllRows) {
  RecordTier tier(1 << 20, 1000);  // two rows in a block
  for (int64_t row = 0; row < 7; ++row) put(tier, row);
  int64_t rows = 0;
  for (const auto block : tier.blocks()) {
    EXPECT_TRUE(
        visit_records(block, [&](size_t /*offset*/, std::span<const std::byte>) { ++rows; }));
  }
  EXPECT_EQ(rows, 7);
}

}  // namespace
}  // namespace encode::testing
