// Tests that LineReader gives whole lines, even if their bytes arrive in parts.
#include "supervisor/worker/line_reader.h"

#include <array>
#include <fcntl.h>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace encode {
namespace {

class LineReaderTest : public ::testing::Test {
 protected:
  LineReaderTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_NONBLOCK), 0);
    read_end_ = UniqueFd(ends[0]);
    write_end_ = UniqueFd(ends[1]);
    reader_.emplace(read_end_.get(), [this](std::string_view line) { lines_.emplace_back(line); });
  }
  void write(const std::string& bytes) {
    write_all(write_end_, bytes.data(), bytes.size(), "pipe");
  }

  UniqueFd read_end_;
  UniqueFd write_end_;
  std::vector<std::string> lines_;
  std::optional<LineReader> reader_;
};

TEST_F(LineReaderTest, PartsAreJoinedAndTheLastLineNeedsNoEnd) {
  for (const std::string part : {"o", "ne\ntw", "o\n", "\nthree"}) {
    write(part);
    reader_->drain();
  }
  EXPECT_THAT(lines_, ::testing::ElementsAre("one", "two", ""));
  write_end_.close();
  reader_->drain();
  EXPECT_EQ(lines_.back(), "three");
  EXPECT_EQ(reader_->fd(), -1) << "poll() ignores -1";
}

TEST_F(LineReaderTest, EndlessLineDoesNotGrowMemory) {
  const std::string block(1 << 15, 'x');
  for (size_t written = 0; written < 3 * LineReader::kMaxLineBytes; written += block.size()) {
    write(block);
    reader_->drain();
  }
  EXPECT_EQ(lines_.size(), 3U);
  for (const std::string& line : lines_)
    EXPECT_LE(line.size(), LineReader::kMaxLineBytes + (1 << 14));
}

}  // namespace
}  // namespace encode
