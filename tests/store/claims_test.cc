// Tests what it costs to claim a chunk while another worker claims its neighbours.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/records.h"
#include "store/shared_log.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

constexpr double kMostSeconds = 0.0001;  // of a processor for a claim, on average
constexpr size_t kParts = 5;             // each part of the claims must be as fast as the first one

int64_t claims_to_take() {
  const char* const soak = std::getenv("CLAIM_SOAK");
  return soak == nullptr ? 2000 : std::stoll(soak);
}

std::string line_of(int64_t chunk) {
  LogRecord record;
  record.stream = std::string(32, '0');
  record.chunk.index = chunk;
  record.chunk.rows = {.begin = chunk, .end = chunk + 1};
  record.chunk.xxh3_128 = std::string(32, '0');
  return to_line(record);
}

double seconds_of(clockid_t clock) {
  struct timespec now = {};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Measures the time of this thread on its processor, so that other work on the machine does not
// count. To look through a list of locks takes such time. `wall` is the time of the clock.
class ClaimTimer {
 public:
  double seconds() const { return seconds_of(CLOCK_THREAD_CPUTIME_ID) - start_; }
  double wall() const { return seconds_of(CLOCK_MONOTONIC) - wall_; }

 private:
  const double start_ = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  const double wall_ = seconds_of(CLOCK_MONOTONIC);
};

// Two workers of a run, which take turns with the chunks of one log, as they do if their chunks
// take equally long. The kernel cannot join two of their locks to one, so its list of the locks of
// the log has one entry for each claim that a worker keeps.
class Claims : public ::testing::Test {
 protected:
  Claims() : path_(dir_.write("chunks.log", "")), workers_({SharedLog(path_), SharedLog(path_)}) {}

  // Takes `count` chunks, commits them with one line each, and gives their claims back if `release`
  // is true. Returns the seconds that the claims of each part have taken, without the commits.
  std::vector<double> take(int64_t count, bool release) {
    std::vector<double> seconds(kParts, 0);
    for (int64_t chunk = 0; chunk < count; ++chunk) {
      SharedLog& worker = workers_.at(static_cast<size_t>(chunk % 2));
      SharedLog& other = workers_.at(static_cast<size_t>((chunk + 1) % 2));
      const ClaimTimer claiming;
      const bool claimed = worker.claim(chunk);
      worker.read_new(
          [this](const LogRecord& record) { committed_.push_back(record.chunk.index); });
      double taken = claiming.seconds();
      wall_ += claiming.wall();
      EXPECT_TRUE(claimed) << chunk;
      EXPECT_FALSE(other.claim(chunk)) << chunk;
      worker.append(line_of(chunk));
      const ClaimTimer releasing;
      if (release) worker.release(chunk);
      taken += releasing.seconds();
      wall_ += releasing.wall();
      slowest_ = std::max(slowest_, taken);
      seconds.at(static_cast<size_t>(chunk) * kParts / static_cast<size_t>(count)) += taken;
    }
    return seconds;
  }

  TempDir dir_;
  const std::string path_;
  std::array<SharedLog, 2> workers_;
  std::vector<int64_t> committed_;  // what both workers have read
  double slowest_ = 0;
  double wall_ = 0;
};

TEST_F(Claims, TakeTheSameShortTimeHoweverManyChunksAreDone) {
  const int64_t count = claims_to_take();
  const std::vector<double> seconds = take(count, /*release=*/true);
  const double each_part = static_cast<double>(count) / kParts;
  EXPECT_EQ(committed_.size(), 2 * count - 3) << "each worker reads the lines of both";
  for (const double part : seconds) EXPECT_LE(part / each_part, kMostSeconds);
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const auto n = static_cast<double>(count);
  std::printf("%.0f claims: %.1f us each, by the clock %.1f us\n", n, all / n * 1e6,
              wall_ / n * 1e6);
  std::printf("%.1f us in the first fifth, %.1f us in the last one, at most %.2f ms\n",
              seconds.front() / each_part * 1e6, seconds.back() / each_part * 1e6, slowest_ * 1e3);
}

TEST_F(Claims, ThatAreKeptMakeEachNewOneSlower) {
  constexpr int64_t kKept = 8000;
  const double released = take(kKept, /*release=*/true).back();
  const std::vector<double> kept = Claims::take(kKept, /*release=*/false);
  EXPECT_GT(kept.back(), 2 * released);
}

}  // namespace
}  // namespace encode::testing
