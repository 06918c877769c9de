// Tests the progress line, and Terminal on a pseudo terminal.
#include "run_record/progress.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <pty.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "run_record/terminal.h"
#include "supervisor/run_reporter.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const ProgressView kHalf = {.stream = "train_tc",
                            .rows_done = 25000,
                            .rows_total = 50000,
                            .tokens_per_second = 20700,
                            .seconds_left = 185};

LogOptions at_level(const std::string& level) {
  LogOptions options;
  options.level = level;
  return options;
}

TEST(ProgressLine, ShowsRowsRateAndTimeLeft) {
  EXPECT_EQ(render_progress(kHalf, 0),
            "train_tc  50% 25,000/50,000 rows, 20.7k tokens/s, 3 m 05 s left");
  EXPECT_THAT(render_progress(kHalf, 120), HasSubstr("[###############...............]"));
}

// A run that is stopped keeps only the saved rows.
TEST(ProgressLine, ShowsTheSavedRowsIfTheyAreFewer) {
  ProgressView view = kHalf;
  view.rows_saved = 20000;
  EXPECT_EQ(render_progress(view, 0),
            "train_tc  50% 25,000/50,000 rows, 20,000 saved, 20.7k tokens/s, 3 m 05 s left");
  view.rows_saved = view.rows_done;
  EXPECT_EQ(render_progress(view, 0), render_progress(kHalf, 0));
}

TEST(ProgressLine, FitsEveryWidth) {
  for (size_t width = 1; width < 200; ++width)
    EXPECT_LE(render_progress(kHalf, width).size(), width);
}

// A name as a run without --output makes it.
TEST(ProgressLine, ALongNameIsShortenedBeforeAFactIsLost) {
  ProgressView view = kHalf;
  view.stream = "tickets_2024_q3.csv_body_all-MiniLM-L6-v2";
  EXPECT_EQ(render_progress(view, 79),
            "tickets_202...niLM-L6-v2  50% 25,000/50,000 rows, 20.7k tokens/s, 3 m 05 s left");
  view.rows_saved = 20000;
  EXPECT_EQ(render_progress(view, 79),
            "tickets_2024...iniLM-L6-v2  50% 25,000/50,000 rows, 20,000 saved, 3 m 05 s left");
  EXPECT_THAT(render_progress(view, 0), StartsWith(view.stream)) << "a log has the whole name";
}

TEST(ProgressLine, ANumberIsNeverCut) {
  for (const char* const name : {"s", "tickets_2024_q3.csv_body_all-MiniLM-L6-v2"}) {
    ProgressView view = kHalf;
    view.stream = name;
    for (size_t width = 36; width < 120; ++width) {
      EXPECT_THAT(render_progress(view, width),
                  ::testing::AnyOf(::testing::EndsWith(" 25,000/50,000 rows"),
                                   ::testing::EndsWith(" 25,000/50,000 rows, 3 m 05 s left"),
                                   ::testing::EndsWith(", 20.7k tokens/s, 3 m 05 s left")))
          << width;
    }
  }
}

TEST(Progress, IsNotShownByRunsThatAreQuietOrWriteJson) {
  EXPECT_TRUE(shows_progress(at_level("warning")));
  EXPECT_FALSE(shows_progress(at_level("error")));
  EXPECT_FALSE(shows_progress({.file = "", .json = true}));
}

TEST(ProgressLine, LeavesOutNumbersThatAreNotKnown) {
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

TEST(RateMeter, KnowsNoRateWithinTheFirstSecond) {
  RateMeter rate;
  const Clock::time_point start;
  rate.add(start, 1000, 7000);
  rate.add(start + std::chrono::milliseconds(2), 2000, 14000);
  EXPECT_EQ(rate.rows_per_second(), 0) << "and not half a million";
  rate.add(start + std::chrono::milliseconds(1000), 3000, 21000);
  EXPECT_EQ(rate.rows_per_second(), 2000);
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
  // Reads until nothing is left: one read may return only a part of what was written.
  std::string screen() const {
    std::array<char, 4096> bytes{};
    std::string text;
    for (ssize_t n = 0; (n = ::read(master_.get(), bytes.data(), bytes.size())) > 0;)
      text.append(bytes.data(), static_cast<size_t>(n));
    return text;
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

TEST_F(TerminalTest, TheWholeStatusLineIsClearedAfterTheTerminalBecameNarrower) {
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
    progress.update({.stream = "s", .rows_done = ms, .rows_total = 1000}, 1000 - ms);
    progress.tick(start + std::chrono::milliseconds(ms));
    redraws += screen().empty() ? 0 : 1;
  }
  EXPECT_GE(redraws, 5);
  EXPECT_LE(redraws, 11);
}

// The file has everything. On a terminal with a bar, more lines would only push the bar down.
TEST_F(TerminalTest, ABarHasOnlyWarningsAboveIt) {
  Terminal terminal(slave_.get());
  RunLog log({}, terminal, terminal);
  log.info("event", "a usual line");
  log.detail("event", "a line of many");
  EXPECT_EQ(screen(), "");
  log.warning("event", "a warning");
  EXPECT_THAT(screen(), HasSubstr("a warning"));
  log.result("summary", "the table\n", {});
  EXPECT_THAT(screen(), HasSubstr("the table"));
}

TEST_F(TerminalTest, WithoutABarOrWithTheLevelDebugItHasLines) {
  Terminal terminal(slave_.get());
  LogOptions options;
  options.progress = false;
  RunLog plain(options, terminal, terminal);
  plain.info("event", "a usual line");
  plain.detail("event", "one of many");
  EXPECT_THAT(screen(), AllOf(HasSubstr("a usual line"), Not(HasSubstr("one of many"))));
  RunLog debug(at_level("debug"), terminal, terminal);
  debug.info("event", "a usual line");
  debug.detail("event", "one of many");
  EXPECT_THAT(screen(), AllOf(HasSubstr("a usual line"), HasSubstr("one of many")));
}

TEST_F(TerminalTest, TheTableIsShownAtTheLevelWarningAndNotAtTheLevelError) {
  Terminal terminal(slave_.get());
  RunLog(at_level("warning"), terminal, terminal).result("summary", "the table\n", {});
  EXPECT_THAT(screen(), HasSubstr("the table"));
  RunLog(at_level("error"), terminal, terminal).result("summary", "the table\n", {});
  EXPECT_EQ(screen(), "");
}

TEST_F(TerminalTest, ALongWarningIsBrokenAtWordsOnTheScreenAndNotInTheFile) {
  ::setenv("NO_COLOR", "1", 1);
  resize(80);
  const testing::TempDir dir;
  const std::string command = "encode cache verify --dir '" + std::string(80, 'x') + " y'";
  const std::string warning =
      "13 rows have an empty text; such rows are encoded like others. To leave them out, give "
      "--empty-row reject (empty_row: reject in the config), or check the cache with: " +
      command;
  Terminal terminal(slave_.get());
  RunLog log({}, terminal, terminal);
  log.open_file(dir.file("encode.log"));
  log.warning("event", warning);
  std::string shown = screen();
  shown.erase(std::remove(shown.begin(), shown.end(), '\r'), shown.end());
  std::istringstream lines(shown);
  std::vector<std::string> wide;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, ::testing::AnyOf(::testing::ContainsRegex("^[0-9:]+ warning: 13 rows"),
                                       StartsWith("         ")));
    if (line.size() >= 80) wide.push_back(line);
  }
  EXPECT_THAT(wide, ::testing::ElementsAre("         " + command));
  EXPECT_THAT(testing::read_bytes(dir.file("encode.log")), HasSubstr("warning: " + warning + "\n"));
}

TEST_F(TerminalTest, ShowsAStepUntilThereAreNumbers) {
  Terminal terminal(slave_.get());
  RunLog log({}, terminal, terminal);
  Progress progress(terminal, log, true);
  progress.step("loading the model");
  EXPECT_EQ(screen(), "loading the model");
  progress.update({.stream = "s", .rows_done = 1, .rows_total = 10}, 9);
  progress.tick(Clock::now() + std::chrono::seconds(1));
  EXPECT_THAT(screen(), HasSubstr("1/10 rows"));
  Progress(terminal, log, false).step("nothing");
  EXPECT_EQ(screen(), "");
}

// A narrow terminal made other programs wrap the line again and again, or divide by zero.
TEST_F(TerminalTest, ANarrowTerminalGetsNoLineThatWraps) {
  Terminal terminal(slave_.get());
  RunLog log({}, terminal, terminal);
  for (const unsigned short columns : {1, 2, 7, 20}) {
    resize(columns);
    Progress progress(terminal, log, true);
    progress.step("reading the texts and the model");
    EXPECT_LT(screen().size(), columns) << columns;
    progress.clear();
    screen();
    progress.update({.stream = "a_stream_with_a_long_name", .rows_done = 1, .rows_total = 10}, 9);
    progress.tick(Clock::now() + std::chrono::seconds(1));
    EXPECT_LT(screen().size(), columns) << columns;
    progress.clear();
    screen();
  }
}

class PlainLog : public ::testing::Test {
 protected:
  PlainLog() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    read_end_ = UniqueFd(ends[0]);
    write_end_ = UniqueFd(ends[1]);
    ::fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
  }
  std::string text() const {
    std::array<char, 8192> bytes{};
    const ssize_t n = ::read(read_end_.get(), bytes.data(), bytes.size());
    return n > 0 ? std::string(bytes.data(), static_cast<size_t>(n)) : "";
  }

  UniqueFd read_end_;
  UniqueFd write_end_;
};

// The run takes ten hours, which are 600 minutes.
TEST_F(PlainLog, ALongRunHasALineOfProgressInAMinute) {
  Terminal pipe(write_end_.get());
  RunLog log({}, pipe, pipe);
  Progress progress(pipe, log, true);
  const Clock::time_point start = Clock::now();
  int lines = 0;
  for (int second = 0; second <= 36'000; ++second) {
    progress.update({.stream = "s", .rows_done = second, .rows_total = 36'000}, 36'000 - second);
    progress.tick(start + std::chrono::seconds(second));
    lines += text().empty() ? 0 : 1;
  }
  EXPECT_GE(lines, 600);
  EXPECT_LE(lines, 606);
}

TEST_F(PlainLog, CountsTheRowsThatAStoppedRunGivesUp) {
  const testing::TempDir dir;
  Terminal pipe(write_end_.get());
  RunLog log({}, pipe, pipe);
  Progress progress(pipe, log, true);
  RunConfig config;
  config.store.cache_dir = dir.path();
  RunReporter reporter(log, progress, config, 1);
  const std::vector<UnitProgress> units = {
      {.name = "a", .input_path = "", .rows = 100, .chunks = 10}};
  reporter.worker_started({.number = 0, .label = ""}, units);
  reporter.event(0, UnitStarted{.unit = 0, .plan = {}});
  reporter.event(0, BatchDone{.unit = 0, .rows_done = 16, .tokens_done = 8});
  ChunkDone saved;
  saved.rows = {0, 10};
  reporter.event(0, saved);
  reporter.event(0, BatchDone{.unit = 0, .rows_done = 19, .tokens_done = 9});
  reporter.tick(Clock::now() + std::chrono::minutes(1));
  EXPECT_THAT(text(), HasSubstr("19/100 rows, 10 saved"));
  reporter.worker_ended(0);
  EXPECT_EQ(reporter.unsaved_rows(), 9);
  reporter.worker_started({.number = 0, .label = ""}, units);
  EXPECT_EQ(reporter.unsaved_rows(), 0) << "the next worker computes them again";
}

// The worker opens the chunks of a window at once, long before it saves them.
TEST_F(PlainLog, AnnouncesTheChunksOfAWindowInOneLine) {
  const testing::TempDir dir;
  Terminal pipe(write_end_.get());
  RunLog log(at_level("debug"), pipe, pipe);
  Progress progress(pipe, log, true);
  RunConfig config;
  config.store.cache_dir = dir.path();
  RunReporter reporter(log, progress, config, 1);
  reporter.worker_started({.number = 0, .label = ""},
                          {{.name = "train_tc", .input_path = "", .rows = 640, .chunks = 64}});
  reporter.event(0, UnitStarted{.unit = 0, .plan = {}});
  text();
  reporter.event(0, WindowStarted{.unit = 0, .rows = {0, 630}});
  for (int64_t chunk = 0; chunk < 63; ++chunk)
    reporter.event(0,
                   ChunkStarted{.unit = 0, .chunk = chunk, .rows = {10 * chunk, 10 * chunk + 10}});
  reporter.event(0, BatchDone{.unit = 0, .rows_done = 4, .tokens_done = 8});
  const std::string group = text();
  EXPECT_THAT(group, HasSubstr("train_tc chunks 1 to 63/64 (samples 0-630)"));
  EXPECT_EQ(std::count(group.begin(), group.end(), '\n'), 1);
  reporter.event(0, ChunkStarted{.unit = 0, .chunk = 63, .rows = {630, 640}});
  reporter.event(0, BatchDone{.unit = 0, .rows_done = 8, .tokens_done = 16});
  EXPECT_THAT(text(), HasSubstr("train_tc chunk 64/64 (samples 630-640)"));
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
