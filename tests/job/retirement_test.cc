#include "job/retirement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/job.h"

namespace encode {
namespace {

constexpr int64_t kGigabyte = 1'000'000'000;

Retirement::Progress chunks(int64_t number, double seconds = 0) {
  return {.chunks = number, .resident_bytes = kGigabyte, .seconds = seconds};
}

Retirement::Progress memory(int64_t bytes) { return {.chunks = 1, .resident_bytes = bytes}; }

TEST(Retirement, ComesOnAGpuWhenTheStartIsPaidForAndNeverOnACpu) {
  Retirement gpu({}, DeviceKind::kCuda, /*start_seconds=*/4);
  Retirement cpu({}, DeviceKind::kCpu, /*start_seconds=*/4);
  gpu.count(chunks(49, 1000));
  EXPECT_FALSE(gpu.due()) << "50 chunks at least";
  gpu.count(chunks(1, 1000));
  EXPECT_TRUE(gpu.due());
  cpu.count(chunks(1'000'000, 1'000'000));
  EXPECT_FALSE(cpu.due());

  Retirement fast({}, DeviceKind::kCuda, /*start_seconds=*/4);
  fast.count(chunks(50'000, 403));
  EXPECT_FALSE(fast.due()) << "it has encoded for less than 100 times its start";
  fast.count(chunks(1, 404));
  EXPECT_TRUE(fast.due());

  Retirement fastest({}, DeviceKind::kCuda, /*start_seconds=*/4);
  fastest.count(chunks(99'999, 5));
  EXPECT_FALSE(fastest.due());
  fastest.count(chunks(1, 5));
  EXPECT_TRUE(fastest.due()) << "100,000 chunks at most";
}

TEST(Retirement, FollowsTheConfigWhateverAStartTakes) {
  HardwareOptions options;
  options.worker_chunks = 3;
  Retirement three(options, DeviceKind::kCpu, /*start_seconds=*/100);
  three.count(chunks(2));
  EXPECT_FALSE(three.due());
  three.count(chunks(1));
  EXPECT_TRUE(three.due());
  options.worker_chunks = 0;
  Retirement never(options, DeviceKind::kCuda, /*start_seconds=*/0);
  never.count(chunks(1'000'000, 1'000'000));
  EXPECT_FALSE(never.due());
}

TEST(Retirement, ComesWhenMemoryCreeps) {
  Retirement cpu({}, DeviceKind::kCpu, /*start_seconds=*/4);
  for (int window = 0; window < 8; ++window) cpu.count(memory(4 * kGigabyte));
  cpu.count(memory(5 * kGigabyte));
  EXPECT_FALSE(cpu.due()) << "windows differ in size";
  cpu.count(memory(6 * kGigabyte + 1));
  EXPECT_TRUE(cpu.due());
  EXPECT_THAT(cpu.reason(), ::testing::HasSubstr("its host memory grew from 4.0 GB to 6.0 GB"));
}

// Computes the share of the time that the starts of workers take with the default settings, for
// chunks of 1,000 rows. The time of a chunk follows from the rates in docs/gpu.md, with 30 tokens
// in a row for MiniLM and 300 for the other models.
TEST(Retirement, CostsAtMostOnePercentOfTheTime) {
  struct Model {
    const char* name;
    double chunk_seconds;
    double start_seconds;
  };
  for (const Model& model :
       {Model{"MiniLM", 0.005, 4}, Model{"BERT-base", 0.22, 4.5}, Model{"Qwen2-1.5B", 4.6, 8}}) {
    Retirement gpu({}, DeviceKind::kCuda, model.start_seconds);
    int64_t number = 0;
    while (!gpu.due()) {
      ++number;
      gpu.count(chunks(1, model.start_seconds + model.chunk_seconds * static_cast<double>(number)));
    };
    const double encoding = model.chunk_seconds * static_cast<double>(number);
    EXPECT_LE(model.start_seconds / (model.start_seconds + encoding), 0.01) << model.name;
    EXPECT_GE(number, 50) << model.name;
  }
}

}  // namespace
}  // namespace encode
