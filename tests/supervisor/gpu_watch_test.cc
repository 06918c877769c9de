#include "run_record/gpu_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_record/memory_log.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMb = 1'000'000;
constexpr int64_t kGb = 1'000'000'000;

// Lets a worker end chunks with these reserved bytes, and counts the warnings.
int warnings_for(GpuWatch& watch, const std::vector<int64_t>& reserved) {
  int warnings = 0;
  for (const int64_t bytes : reserved)
    warnings += watch.chunk_done({.allocated_bytes = bytes / 2, .reserved_bytes = bytes}) ? 1 : 0;
  return warnings;
}

std::vector<int64_t> growing(int64_t from, int64_t step, int chunks) {
  std::vector<int64_t> values;
  for (int i = 0; i < chunks; ++i) values.push_back(from + step * i);
  return values;
}

TEST(GpuWatch, WarnsOnceOfMemoryThatCreepsUp) {
  GpuWatch watch;
  EXPECT_EQ(warnings_for(watch, growing(10 * kGb, 200 * kMb, 60)), 1);
}

TEST(GpuWatch, AFewLargeChunksAreNoCreep) {
  GpuWatch watch;
  std::vector<int64_t> chunks(60, 10 * kGb);
  for (const size_t large : {20U, 21U, 22U, 40U}) chunks[large] = 30 * kGb;
  EXPECT_EQ(warnings_for(watch, chunks), 0);
}

TEST(GpuWatch, TheFirstChunksOfAWorkerMayGrow) {
  GpuWatch watch;
  std::vector<int64_t> chunks = growing(kGb, 3 * kGb, GpuWatch::kWarmUpChunks);
  chunks.insert(chunks.end(), 50, 13 * kGb);
  EXPECT_EQ(warnings_for(watch, chunks), 0);
}

TEST(GpuWatch, SmallGrowthIsNoCreep) {
  GpuWatch watch;
  EXPECT_EQ(warnings_for(watch, growing(10 * kGb, 10 * kMb, 60)), 0) << "less than 10 %";
  EXPECT_EQ(warnings_for(watch, growing(100 * kMb, 2 * kMb, 60)), 0) << "less than 256 MiB";
}

TEST(GpuWatch, AnotherWorkerBeginsAnew) {
  GpuWatch watch;
  EXPECT_EQ(warnings_for(watch, growing(10 * kGb, 200 * kMb, 60)), 1);
  watch.worker_started();
  EXPECT_EQ(warnings_for(watch, std::vector<int64_t>(60, 30 * kGb)), 0);
  watch.worker_started();
  EXPECT_EQ(warnings_for(watch, growing(10 * kGb, 200 * kMb, 60)), 1);
}

TEST(GpuWatch, ACpuHasNoMemoryToWatch) {
  GpuWatch watch;
  EXPECT_EQ(warnings_for(watch, std::vector<int64_t>(60, 0)), 0);
}

class Samples {
 public:
  std::vector<GpuWarning> add(int64_t used_percent, int64_t busy_percent, bool encoding = true) {
    now_ += std::chrono::seconds(10);
    const GpuSample sample = {.used_bytes = used_percent * kGb,
                              .total_bytes = 100 * kGb,
                              .utilization_percent = busy_percent,
                              .temperature_celsius = 50};
    return watch_.sampled(now_, sample, encoding);
  }

 private:
  GpuWatch watch_;
  Clock::time_point now_;
};

TEST(GpuWatch, WarnsOnceUntilTheCardIsNoLongerFull) {
  Samples samples;
  EXPECT_THAT(samples.add(95, 99), IsEmpty());
  const auto warnings = samples.add(96, 99);
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0].trouble, GpuTrouble::kNearLimit);
  EXPECT_THAT(warnings[0].message, HasSubstr("96.0% of the GPU's memory"));
  EXPECT_THAT(samples.add(97, 99), IsEmpty());
  EXPECT_THAT(samples.add(92, 99), IsEmpty());
  EXPECT_THAT(samples.add(97, 99), IsEmpty()) << "92 % is the same episode";
  EXPECT_THAT(samples.add(89, 99), IsEmpty());
  EXPECT_THAT(samples.add(97, 99), SizeIs(1));
}

TEST(GpuWatch, WarnsOnceOfACardThatIsIdleForAMinute) {
  Samples samples;
  for (int i = 0; i < 6; ++i) EXPECT_THAT(samples.add(50, 5), IsEmpty()) << i;
  EXPECT_THAT(samples.add(50, 5), SizeIs(1));
  EXPECT_THAT(samples.add(50, 5), IsEmpty());
  EXPECT_THAT(samples.add(50, 90), IsEmpty());
  for (int i = 0; i < 6; ++i) samples.add(50, 5);
  EXPECT_THAT(samples.add(50, 5), SizeIs(1)) << "a second episode";
}

TEST(GpuWatch, AShortPauseIsNotIdle) {
  Samples samples;
  for (int i = 0; i < 60; ++i) EXPECT_THAT(samples.add(50, i % 6 == 0 ? 90 : 5), IsEmpty());
}

TEST(GpuWatch, ACardWithoutRowsOrWithoutNumbersIsNotIdle) {
  Samples samples;
  for (int i = 0; i < 20; ++i) EXPECT_THAT(samples.add(50, 0, /*encoding=*/false), IsEmpty());
  for (int i = 0; i < 20; ++i) EXPECT_THAT(samples.add(50, -1), IsEmpty());
}

TEST(MemoryLog, KeepsSamplesAndWarnings) {
  const testing::TempDir dir;
  const std::string path = dir.file("memory.jsonl");
  MemorySample sample;
  sample.gpu = {
      .used_bytes = 5, .total_bytes = 9, .utilization_percent = 70, .temperature_celsius = 61};
  sample.tokens_per_second = 1234.5;
  sample.tokens = 99;
  sample.stages = {.read = 1.5, .rows_awaited = 0.25, .encode = 70, .commit = 2};
  {
    MemoryLog log(path, [](const std::string& problem) { FAIL() << problem; });
    log.add(sample);
    log.add({.trouble = GpuTrouble::kIdle, .message = "idle"});
  }
  const MemoryHistory history = read_memory(path);
  EXPECT_THAT(history.problems, IsEmpty());
  ASSERT_THAT(history.samples, SizeIs(1));
  EXPECT_EQ(history.samples[0].gpu.utilization_percent, 70);
  EXPECT_EQ(history.samples[0].gpu.temperature_celsius, 61);
  EXPECT_EQ(history.samples[0].tokens_per_second, 1234.5);
  EXPECT_EQ(history.samples[0].tokens, 99);
  EXPECT_EQ(history.samples[0].stages, sample.stages);
  ASSERT_THAT(history.warnings, SizeIs(1));
  EXPECT_EQ(history.warnings[0].trouble, GpuTrouble::kIdle);
  EXPECT_GT(history.warnings[0].time, 0);
}

// A file of a version without a monitor and without stages.
TEST(MemoryLog, ReadsSamplesWithoutAGpuAndWithoutStages) {
  const testing::TempDir dir;
  const std::string path =
      dir.write("memory.jsonl",
                "{\"encode\":\"memory\",\"format\":1}\n"
                "{\"time\":1,\"worker_bytes\":2,\"host_available_bytes\":3,\"host_limit_bytes\":4,"
                "\"device_allocated_bytes\":0,\"device_reserved_bytes\":0,\"device_peak_bytes\":0,"
                "\"device_total_bytes\":0}\n");
  const MemoryHistory history = read_memory(path);
  EXPECT_THAT(history.problems, IsEmpty());
  ASSERT_THAT(history.samples, SizeIs(1));
  EXPECT_EQ(history.samples[0].gpu.used_bytes, -1);
  EXPECT_EQ(history.samples[0].tokens, -1);
  EXPECT_EQ(history.samples[0].stages, StageSeconds());
}

}  // namespace
}  // namespace encode
