// Tests that a record is read as it was written, and that any changed bit is found.
#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "cache/cache_record.h"
#include "known_rows.h"

namespace encode::testing {
namespace {

constexpr int64_t kDim = 5;  // an odd number, so that a record ends with padding

std::vector<std::byte> record_with(const std::vector<float>& values, bool redone) {
  const RecordFormat format = record_format(values);
  std::vector<std::byte> bytes(record_bytes(values.size(), format));
  write_record(bytes, {.key = known_key(3), .values = values, .redone = redone}, format);
  return bytes;
}

std::vector<std::byte> record_of(int64_t row) {
  const std::vector<float> values = known_values(row, kDim);
  const RecordFormat format = record_format(values);
  std::vector<std::byte> bytes(record_bytes(values.size(), format));
  write_record(bytes, {.key = known_key(row), .values = values}, format);
  return bytes;
}

std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// Values with all exponents, signs and ends of the two types: -0, subnormals, the largest float16.
const std::vector<float> kHalves = {-0.0F, 0x1p-24F, 65504.0F, -0.333251953125F, 0x1p-14F};
const std::vector<float> kNotHalves = {-0.0F, 0x1p-25F, 65505.0F, 1.0F / 3, 0x1p-149F};

TEST(Record, IsReadAsItWasWritten) {
  for (const std::vector<float>& values : {kHalves, kNotHalves}) {
    for (const bool redone : {false, true}) {
      const std::vector<std::byte> bytes = record_with(values, redone);
      const auto row = read_record(bytes);
      ASSERT_TRUE(row);
      EXPECT_EQ(row->key, known_key(3));
      EXPECT_EQ(row->redone, redone);
      ASSERT_EQ(row->values, values.size());
      std::vector<float> read(values.size());
      row->copy_to(read);
      EXPECT_EQ(bits_of(read), bits_of(values));
    }
  }
}

TEST(Record, TakesHalfTheSpaceOnlyIfThatLosesNothing) {
  EXPECT_EQ(record_format(kHalves), RecordFormat::kFloat16);
  EXPECT_EQ(record_bytes(384, RecordFormat::kFloat16) - sizeof(RecordHeader), 768U);
  EXPECT_EQ(record_bytes(384, RecordFormat::kFloat32) - sizeof(RecordHeader), 1536U);
  for (const float value : kNotHalves) {
    if (value == 0) continue;
    std::vector<float> values = kHalves;
    values.back() = value;
    EXPECT_EQ(record_format(values), RecordFormat::kFloat32) << value;
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
