#include "preflight/device_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::HasSubstr;

GpuStatus healthy() {
  GpuStatus gpu;
  gpu.name = "NVIDIA H100";
  gpu.total_bytes = 80'000'000'000;
  gpu.free_bytes = 79'000'000'000;
  gpu.used_bytes = 1'000'000'000;
  gpu.temperature_celsius = 40;
  gpu.slowdown_celsius = 90;
  gpu.throttling = GpuThrottling{};
  gpu.ecc_errors = 0;
  gpu.compute_capability = "9.0";
  gpu.processes = std::vector<GpuProcess>();
  return gpu;
}

// Returns what is found for one GPU with a good driver and plugin.
PreflightFindings check(const GpuStatus& gpu, const std::string& device = "cuda") {
  PreflightFindings findings;
  check_device({.driver = NvidiaDriver{.version = "580.1", .cuda_version = 13000}, .gpus = {gpu}},
               {.device = parse_device(device),
                .model_bytes = 1'000'000'000,
                .plugin = {.path = "lib/libencode_cuda.so", .cuda_version = 13},
                .selection = {}},
               findings);
  return findings;
}

std::string last(const PreflightFindings& findings) { return findings.all().back().found; }

TEST(DeviceChecks, AHealthyGpuIsGreen) {
  const PreflightFindings findings = check(healthy());
  EXPECT_EQ(findings.count(Grade::kYellow) + findings.count(Grade::kRed), 0);
  EXPECT_THAT(last(findings), HasSubstr("NVIDIA H100: 79.0 GB of 80.0 GB free"));
}

TEST(DeviceChecks, NothingIsSaidOfValuesThatTheGpuDoesNotKnow) {
  GpuStatus gpu;
  gpu.name = "NVIDIA GeForce";
  EXPECT_EQ(last(check(gpu)), "NVIDIA GeForce");
}

TEST(DeviceChecks, DamagedMemoryIsRed) {
  GpuStatus gpu = healthy();
  gpu.rows_failed = true;
  EXPECT_EQ(check(gpu).exit_code(), ExitCode::kUnavailable);
  gpu = healthy();
  gpu.rows_pending = true;
  EXPECT_EQ(check(gpu).count(Grade::kYellow), 1);
}

TEST(DeviceChecks, AProhibitedOrOldGpuIsRed) {
  GpuStatus gpu = healthy();
  gpu.compute_prohibited = true;
  EXPECT_EQ(check(gpu).count(Grade::kRed), 1);
  gpu = healthy();
  gpu.compute_capability = "7.0";
  EXPECT_EQ(check(gpu).count(Grade::kRed), 1);
  for (const char* good : {"7.5", "9.0", "10.0", "12.0"}) {
    gpu.compute_capability = good;
    EXPECT_EQ(check(gpu).count(Grade::kRed), 0) << good;
  }
}

TEST(DeviceChecks, MemoryOfHiddenProcessesIsYellow) {
  GpuStatus gpu = healthy();
  gpu.used_bytes = 30'000'000'000;
  EXPECT_THAT(last(check(gpu)), HasSubstr("cannot be seen from here use 30.0 GB"));
}

TEST(DeviceChecks, ThePowerLimitIsNoTrouble) {
  GpuStatus gpu = healthy();
  gpu.throttling->power_cap = true;
  EXPECT_EQ(check(gpu).count(Grade::kYellow), 0);
}

// "auto" computes on the CPU where "cuda" would end the run.
TEST(DeviceChecks, ALostDriverIsRedOnlyIfAGpuIsAskedFor) {
  ErrorDetail failure;
  failure.exit_code = ExitCode::kUnavailable;
  failure.code = "nvml.failed";
  for (const auto& [device, code] :
       {std::pair{"cuda:0", ExitCode::kUnavailable}, std::pair{"auto", ExitCode::kOk},
        std::pair{"cpu", ExitCode::kOk}}) {
    PreflightFindings findings;
    check_device({.driver = {}, .gpus = {}, .failure = failure}, {.device = parse_device(device)},
                 findings);
    EXPECT_EQ(findings.exit_code(), code) << device;
    EXPECT_EQ(findings.count(Grade::kYellow), device == std::string("auto") ? 1 : 0) << device;
  }
}

TEST(DeviceChecks, ThePluginSaysWhichCudaItNeeds) {
  const testing::TempDir dir;
  const std::string worker = dir.write("bin/encode-worker", "");
  EXPECT_EQ(find_plugin(worker).path, "");
  dir.write("lib/libencode_cuda.so", "..libcudart.so.13..");
  EXPECT_EQ(find_plugin(worker).cuda_version, 13);
  EXPECT_EQ(find_plugin(worker).path, dir.file("lib/libencode_cuda.so"));
}

}  // namespace
}  // namespace encode
