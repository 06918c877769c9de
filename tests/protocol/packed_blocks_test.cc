#include "protocol/packed_blocks.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encode/text.h"

#include "base/base64.h"

namespace encode {
namespace {

using Block = InputScan::Checkpoint;
using Blocks = std::vector<Block>;

// The blocks of a file with a line of about 100 bytes for each row.
Blocks usual_blocks(int64_t count) {
  std::mt19937_64 random(1);
  Blocks blocks;
  for (int64_t i = 0; i < count; ++i) {
    Block& block = blocks.emplace_back(Block{
        .row = 1000 * i, .line = 1000 * i + 1, .rows_in = 1001 * i, .offset_bytes = 100'003 * i});
    for (std::byte& byte : block.xxh3_128) byte = static_cast<std::byte>(random());
  }
  return blocks;
}

TEST(PackedBlocks, BlocksSurviveTheRoundTrip) {
  Blocks extremes;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const int64_t value : {int64_t{0}, kMost, int64_t{1}, int64_t{-1}, kLeast, int64_t{127}})
    extremes.push_back({value, value / 3, value / 2, kMost, value, {std::byte{7}}});
  for (const Blocks& blocks : {Blocks{}, Blocks(1), usual_blocks(1000), extremes}) {
    Blocks found(3);
    ASSERT_TRUE(unpack(packed(blocks), found));
    EXPECT_EQ(found, blocks);
  }
}

TEST(PackedBlocks, ABlockTakesAtMostFortyCharacters) {
  EXPECT_LE(packed(usual_blocks(10'000)).size(), 400'000U);
}

TEST(PackedBlocks, EveryOtherTextIsRefused) {
  const std::string bytes = bytes_of_base64(packed(usual_blocks(2))).value();
  Blocks blocks;
  EXPECT_TRUE(unpack(base64_of(bytes), blocks)) << "the control";
  const size_t first = 5 + 16;  // the first block has five varints of one byte and its hash
  for (size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_EQ(unpack(base64_of(bytes.substr(0, size)), blocks), size == first) << size;
  }
  const std::string eleven_digits(10, '\xff');
  EXPECT_FALSE(unpack(base64_of(eleven_digits + bytes), blocks));
  EXPECT_FALSE(unpack(base64_of(std::string(9, '\xff') + '\x02' + bytes), blocks)) << "2^64";
  EXPECT_FALSE(unpack(base64_of("\x80" + bytes), blocks)) << "a number with a needless digit";
  EXPECT_FALSE(unpack("not base64", blocks));
}

}  // namespace
}  // namespace encode
