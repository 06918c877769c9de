// Tests the progress line, and Terminal on a pseudo terminal.
#include "supervisor/report/progress.h"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <pty.h>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "supervisor/report/terminal.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const ProgressView kHalf = {.stream = "train_tc",
                            .rows_done = 25000,
                            .rows_total = 50000,
                            .tokens_per_second = 20700,
                            .seconds_left = 185};

TEST(ProgressLine, ShowsRowsRateAndTimeLeft) {
  EXPECT_EQ(render_progress(kHalf, 0),
            "train_tc  50% 25,000/50,000 rows, 20.7k tokens/s, 3 m 05 s left");
  EXPECT_THAT(render_progress(kHalf, 120), HasSubstr("[###############...............]"));
}

TEST(ProgressLine, FitsEveryWidth) {
  for (size_t width = 1; width < 200; ++width)
    EXPECT_LE(render_progress(kHalf, width).size(), width);
}

TEST(ProgressLine, UnknownIsLeftOut) {
  const ProgressView start = {
      .stream = "s", .rows_done = 0, .rows_total = 10, .tokens_per_second = 0, .seconds_left = -1};
  EXPECT_EQ(render_progress(start, 0), "s   0% 0/10 rows");
  const ProgressView empty = {
      .stream = "s", .rows_done = 0, .rows_total = 0, .tokens_per_second = 0, .seconds_left = 0};
  EXPECT_THAT(render_progress(empty, 0), HasSubstr("100%")) << "a stream without rows is done";
}

TEST(RateMeter, MeasuresTheLastHalfMinute) {
  RateMeter rate;
  const Clock::time_point start;
  for (int second = 0; second <= 100; ++second) {
    const int64_t rows =
        second <= 60 ? second : 60 + (second - 60) * 10;  // ten times faster after a minute
    rate.add(start + std::chrono::seconds(second), rows, rows * 7);
  }
  EXPECT_NEAR(rate.rows_per_second(), 10, 0.5);
  EXPECT_NEAR(rate.tokens_per_second(), 70, 3.5);
}

class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    int master = -1;
    int slave = -1;
    EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
    master_ = UniqueFd(master);
    slave_ = UniqueFd(slave);
    ::fcntl(master, F_SETFL, O_NONBLOCK);
    resize(40);
  }
  void resize(unsigned short columns) const {
    const struct winsize size = {.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(slave_.get(), TIOCSWINSZ, &size), 0);
  }
  std::string screen() const {
    std::array<char, 4096> bytes{};
    const ssize_t n = ::read(master_.get(), bytes.data(), bytes.size());
    return n > 0 ? std::string(bytes.data(), static_cast<size_t>(n)) : "";
  }

  UniqueFd master_;
  UniqueFd slave_;
};

TEST_F(TerminalTest, StatusLineIsClearedBeforeALineAndRedrawnAfter) {
  Terminal terminal(slave_.get());
  terminal.set_status("50%");
  EXPECT_EQ(screen(), "50%");
  terminal.write("saved\n");
  EXPECT_EQ(screen(), "\r\x1b[Jsaved\r\n50%");
  terminal.set_status("");
  EXPECT_EQ(screen(), "\r\x1b[J");
}

TEST_F(TerminalTest, StatusLineNeverReachesTheLastColumn) {
  Terminal terminal(slave_.get());
  terminal.set_status(std::string(100, 'x'));
  EXPECT_EQ(screen(), std::string(39, 'x'));
}

TEST_F(TerminalTest, NarrowedTerminalIsClearedWhole) {
  Terminal terminal(slave_.get());
  terminal.set_status(std::string(39, 'x'));
  screen();
  resize(10);  // the 39 columns now cover four rows
  terminal.set_status("y");
  EXPECT_THAT(screen(), StartsWith("\r\x1b[3A\x1b[J"));
}

TEST_F(TerminalTest, NoColorIsHonoured) {
  EXPECT_TRUE(Terminal(slave_.get()).color());
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(Terminal(slave_.get()).color());
  EXPECT_TRUE(Terminal(slave_.get()).live());
}

TEST_F(TerminalTest, ProgressRedrawsAtMostTenTimesASecond) {
  Terminal terminal(slave_.get());
  RunLog log({}, terminal, terminal);
  Progress progress(terminal, log, true);
  const Clock::time_point start = Clock::now();
  int redraws = 0;
  for (int ms = 0; ms < 1000; ++ms) {
    progress.update("s", ms, 1000, 1000 - ms);
    progress.tick(start + std::chrono::milliseconds(ms));
    redraws += screen().empty() ? 0 : 1;
  }
  EXPECT_GE(redraws, 5);
  EXPECT_LE(redraws, 11);
}

TEST(TerminalPipe, GetsNoControlSequences) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  {
    Terminal terminal(write_end.get());
    terminal.set_status("50%");
    terminal.write("saved\n");
  }
  write_end.close();
  std::array<char, 100> bytes{};
  const ssize_t n = ::read(read_end.get(), bytes.data(), bytes.size());
  EXPECT_EQ(std::string(bytes.data(), static_cast<size_t>(n)), "saved\n");
}

}  // namespace
}  // namespace encode
