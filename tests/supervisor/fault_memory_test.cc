// Tests that attempts.json never makes a run do without a row that can be encoded.
#include "supervisor/worker/fault_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class FaultMemoryFile : public ::testing::Test {
 protected:
  FaultMemoryFile() {
    FaultMemory memory(path_);
    memory.bind("s", "a text");
    memory.of("s").set_aside = {{.row = 7, .code = "c", .message = "m"}};
    memory.save();
  }

  const testing::TempDir dir_;
  const std::string path_ = dir_.file("attempts.json");
};

TEST_F(FaultMemoryFile, IsForTheSameFingerprintOnly) {
  FaultMemory same(path_);
  same.bind("s", "a text");
  EXPECT_THAT(same.of("s").set_aside, SizeIs(1));
  FaultMemory other(path_);
  other.bind("s", "another text");
  EXPECT_THAT(other.of("s").set_aside, IsEmpty());
  other.save();
  FaultMemory later(path_);
  later.bind("s", "a text");
  EXPECT_THAT(later.of("s").set_aside, IsEmpty()) << "it was forgotten";
}

// A flipped bit must not set another row aside.
TEST_F(FaultMemoryFile, WithAnyBitFlippedOrCutOffItIsEmpty) {
  const std::string whole = testing::read_bytes(path_);
  ASSERT_THAT(FaultMemory(path_).streams(), SizeIs(1));
  for (size_t bit = 0; bit < (whole.size() - 1) * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ static_cast<char>(1 << (bit % 8)));
    testing::write_bytes(path_, bytes);
    EXPECT_THAT(FaultMemory(path_).streams(), IsEmpty()) << "bit " << bit;
  }
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    testing::write_bytes(path_, whole.substr(0, size));
    EXPECT_THAT(FaultMemory(path_).streams(), IsEmpty()) << "cut to " << size;
  }
}

}  // namespace
}  // namespace encode
