// Tests that a record is read as it was written, and that any changed bit is found.
#include "cache/record.h"

#include <vector>

#include <gtest/gtest.h>

#include "known_rows.h"

namespace encode::testing {
namespace {

constexpr int64_t kDim = 5;  // an odd number, so that a record ends with padding

std::vector<std::byte> record_of(int64_t row, bool redone = false) {
  const std::vector<float> values = known_values(row, kDim);
  std::vector<std::byte> bytes(record_bytes(values.size()));
  write_record(bytes, {.key = known_key(row), .values = values, .redone = redone});
  return bytes;
}

TEST(Record, IsReadAsItWasWritten) {
  for (const bool redone : {false, true}) {
    const std::vector<std::byte> bytes = record_of(3, redone);
    const auto row = read_record(bytes);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->key, known_key(3));
    EXPECT_EQ(std::vector<float>(row->values.begin(), row->values.end()), known_values(3, kDim));
    EXPECT_EQ(row->redone, redone);
  }
}

TEST(Record, IsRefusedIfAnyBitHasChanged) {
  std::vector<std::byte> bytes = record_of(3);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1U << (bit % 8))};
    bytes[bit / 8] ^= mask;
    EXPECT_FALSE(read_record(bytes)) << bit;
    bytes[bit / 8] ^= mask;
  }
  EXPECT_TRUE(read_record(bytes)) << "the control";
}

TEST(Record, IsRefusedIfItIsCutOff) {
  const std::vector<std::byte> bytes = record_of(3);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(read_record(std::span(bytes).first(size))) << size;
}

TEST(Record, SeveralAreABlock) {
  std::vector<std::byte> block = record_of(1);
  const std::vector<std::byte> second = record_of(2);
  block.insert(block.end(), second.begin(), second.end());
  std::vector<EmbeddingKey> keys;
  const auto visit = [&](size_t /*offset*/, std::span<const std::byte> record) {
    keys.push_back(key_of(record));
  };
  EXPECT_TRUE(visit_records(block, visit));
  EXPECT_EQ(keys, (std::vector{known_key(1), known_key(2)}));
  EXPECT_FALSE(visit_records(std::span(block).first(block.size() - 1), visit));
}

}  // namespace
}  // namespace encode::testing
