// Tests the checks of memory and of the settings.
#include <gtest/gtest.h>

#include "preflight/checks.h"

namespace encode {
namespace {

constexpr int64_t kGb = 1'000'000'000;

TEST(HostChecks, TooLittleMemoryToReadAheadIsYellow) {
  HostFacts host;
  host.memory = {.limit_bytes = 8 * kGb, .available_bytes = kGb};
  PreflightFindings findings;
  check_memory_to_run(host, {.worker_bytes = kGb / 2, .prefetch_bytes = kGb / 4}, findings);
  EXPECT_EQ(findings.count(Grade::kYellow), 0);
  check_memory_to_run(host, {.worker_bytes = kGb / 2, .prefetch_bytes = kGb}, findings);
  EXPECT_EQ(findings.count(Grade::kYellow), 1);
}

TEST(HostChecks, TheLimitOfTheRunCountsAsTheAvailableMemory) {
  HostFacts host;
  host.memory = {.limit_bytes = 8 * kGb, .available_bytes = 8 * kGb};
  HostNeeds needs = {.worker_bytes = kGb / 2, .prefetch_bytes = kGb / 4, .limit = {.bytes = kGb}};
  PreflightFindings findings;
  check_memory_to_run(host, needs, findings);
  EXPECT_EQ(findings.count(Grade::kYellow), 0);
  needs.limit.workers = 2;
  check_memory_to_run(host, needs, findings);
  ASSERT_EQ(findings.count(Grade::kYellow), 1);
  EXPECT_NE(findings.all().back().found.find("hardware.memory_limit"), std::string::npos);
}

RunConfig on_gpu() {
  RunConfig config;
  config.hardware.device = parse_device("cuda");
  return config;
}

bool finds(const RunConfig& config, Grade grade, const std::string& text, bool gpu = true) {
  PreflightFindings findings;
  check_defences(config, gpu, findings);
  for (const PreflightFinding& finding : findings.all()) {
    if (finding.grade == grade && finding.found.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(DefenceChecks, EachDefenceIsInForceByDefault) {
  EXPECT_TRUE(finds(on_gpu(), Grade::kGreen, "expandable_segments:True"));
  EXPECT_TRUE(finds(on_gpu(), Grade::kGreen, "after at least 50 chunks"));
  EXPECT_TRUE(finds(on_gpu(), Grade::kGreen, "a row that kills every worker is found"));
  EXPECT_TRUE(finds(on_gpu(), Grade::kGreen, "no matrix while a row is set aside"));
  EXPECT_FALSE(finds(on_gpu(), Grade::kYellow, ""));
}

TEST(DefenceChecks, ACpuHasNoAllocatorToShow) {
  RunConfig config;
  config.hardware.devices = {parse_device("cpu"), parse_device("cpu")};
  EXPECT_FALSE(finds(config, Grade::kGreen, "expandable_segments"));
  config.hardware.devices = {parse_device("cuda:0"), parse_device("cuda:1")};
  EXPECT_TRUE(finds(config, Grade::kGreen, "expandable_segments:True"));
}

// On a machine without a GPU, "auto" computes on the CPU.
TEST(DefenceChecks, NothingIsSaidOfAGpuThatIsNotThere) {
  RunConfig config;
  config.hardware.synchronous_launches = true;
  config.hardware.worker_chunks = 0;
  for (const Grade grade : {Grade::kGreen, Grade::kYellow}) {
    for (const char* gpu : {"GPU", "launches", "expandable_segments", "worker_chunks"})
      EXPECT_FALSE(finds(config, grade, gpu, /*gpu=*/false)) << gpu;
  }
  EXPECT_TRUE(finds(config, Grade::kGreen, "is found after 6 of them, and set aside", false));
  config.hardware.allocator_conf = "no_such_key:1";
  EXPECT_TRUE(finds(config, Grade::kRed, "no_such_key", false)) << "a run refuses it";
}

TEST(DefenceChecks, ADefenceThatIsSwitchedOffIsYellow) {
  RunConfig config = on_gpu();
  config.hardware.worker_chunks = 0;
  EXPECT_TRUE(finds(config, Grade::kYellow, "worker_chunks: 0"));
  config = on_gpu();
  config.hardware.max_restarts = 1;
  EXPECT_TRUE(finds(config, Grade::kYellow, "max_restarts: 1"));
  config = on_gpu();
  config.hardware.synchronous_launches = true;
  EXPECT_TRUE(finds(config, Grade::kYellow, "synchronous_launches"));
  config = on_gpu();
  config.hardware.allocator_conf = "no_such_key:1";
  EXPECT_TRUE(finds(config, Grade::kRed, "no_such_key"));
}

}  // namespace
}  // namespace encode
