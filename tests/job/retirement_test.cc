#include "job/retirement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

constexpr int64_t kGigabyte = 1'000'000'000;

TEST(Retirement, ComesAfterFiftyChunksOnAGpuAndNeverOnACpu) {
  Retirement gpu({}, DeviceKind::kCuda);
  Retirement cpu({}, DeviceKind::kCpu);
  for (int chunk = 0; chunk < 49; ++chunk) {
    gpu.count(1, kGigabyte);
    cpu.count(1, kGigabyte);
  }
  EXPECT_FALSE(gpu.due());
  gpu.count(1, kGigabyte);
  cpu.count(1000, kGigabyte);
  EXPECT_TRUE(gpu.due());
  EXPECT_FALSE(cpu.due());
}

TEST(Retirement, FollowsTheConfig) {
  HardwareOptions options;
  options.worker_chunks = 3;
  Retirement three(options, DeviceKind::kCpu);
  three.count(2, kGigabyte);
  EXPECT_FALSE(three.due());
  three.count(1, kGigabyte);
  EXPECT_TRUE(three.due());
  options.worker_chunks = 0;
  Retirement never(options, DeviceKind::kCuda);
  never.count(1'000'000, kGigabyte);
  EXPECT_FALSE(never.due());
}

TEST(Retirement, ComesWhenMemoryCreeps) {
  Retirement cpu({}, DeviceKind::kCpu);
  for (int window = 0; window < 8; ++window) cpu.count(1, 4 * kGigabyte);
  cpu.count(1, 5 * kGigabyte);
  EXPECT_FALSE(cpu.due()) << "windows differ in size";
  cpu.count(1, 6 * kGigabyte + 1);
  EXPECT_TRUE(cpu.due());
  EXPECT_THAT(cpu.reason(), ::testing::HasSubstr("its host memory grew from 4.0 GB to 6.0 GB"));
}

}  // namespace
}  // namespace encode
