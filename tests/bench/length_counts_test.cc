// Tests that LengthCounts gives exact sums, and nearly exact sums of truncated rows.
#include "bench/length_counts.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/stop_signal.h"
#include "run_plan/resume.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

TEST(LengthCounts, SumsAreExactAndCutsNearlySo) {
  std::vector<int64_t> lengths = {0, 1, 15, 16, 17, 1 << 26};
  for (int64_t i = 0; i < 2000; ++i) lengths.push_back(i * 7919 % 5000);
  LengthCounts counts;
  int64_t sum = 0;
  for (const int64_t length : lengths) {
    counts.add(length);
    sum += length;
  }
  EXPECT_EQ(counts.rows(), static_cast<int64_t>(lengths.size()));
  EXPECT_EQ(counts.bytes(), sum);
  EXPECT_EQ(counts.bytes_up_to(std::numeric_limits<double>::infinity()), static_cast<double>(sum));
  for (const double cap : {1.0, 20.0, 300.0, 1000.0, 4000.0}) {
    double expected = 0;
    for (const int64_t length : lengths) expected += std::min(static_cast<double>(length), cap);
    EXPECT_NEAR(counts.bytes_up_to(cap), expected, expected / 100) << cap;
  }
}

InputOptions three_lines(const testing::TempDir& dir) {
  dir.write("rows.txt", "a\nbb\nccc\n");
  InputOptions input;
  input.path = dir.file("rows.txt");
  return input;
}

TEST(InputLengths, AreOfTheFirstRowsAndOfAll) {
  const testing::TempDir dir;
  const StopSignal stop;
  const InputLengths lengths = count_lengths(three_lines(dir), 2, stop);
  EXPECT_EQ(lengths.timed.rows(), 2);
  EXPECT_EQ(lengths.timed.bytes(), 3);
  EXPECT_EQ(lengths.whole.rows(), 3);
  EXPECT_EQ(lengths.whole.bytes(), 6);
}

TEST(InputLengths, ASignalEndsTheReading) {
  const testing::TempDir dir;
  const StopSignal stop;
  std::raise(SIGTERM);
  EXPECT_THROW(count_lengths(three_lines(dir), 2, stop), Stopped);
}

}  // namespace
}  // namespace encode
