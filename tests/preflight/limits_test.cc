// Tests the checks of memory, of disk space and of the settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "preflight/defence_checks.h"
#include "preflight/host_checks.h"
#include "preflight/store_checks.h"

namespace encode {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGb = 1'000'000'000;

TEST(HostChecks, AModelThatIsTooLargeIsRefusedBeforeItIsLoaded) {
  PreflightFindings findings;
  HostFacts host;
  host.memory = {.limit_bytes = 8 * kGb, .available_bytes = 3 * kGb};
  EXPECT_TRUE(check_memory_to_load(host, {.model_bytes = 2 * kGb}, findings));
  EXPECT_FALSE(check_memory_to_load(host, {.model_bytes = 3 * kGb}, findings));
  EXPECT_EQ(findings.all().back().code, "preflight.memory");
  EXPECT_EQ(findings.exit_code(), ExitCode::kOsError);
}

TEST(HostChecks, TooLittleMemoryToReadAheadIsYellow) {
  HostFacts host;
  host.memory = {.limit_bytes = 8 * kGb, .available_bytes = kGb};
  PreflightFindings findings;
  check_memory_to_run(host, {.worker_bytes = kGb / 2, .prefetch_bytes = kGb / 4}, findings);
  EXPECT_EQ(findings.count(Grade::kYellow), 0);
  check_memory_to_run(host, {.worker_bytes = kGb / 2, .prefetch_bytes = kGb}, findings);
  EXPECT_EQ(findings.count(Grade::kYellow), 1);
}

PreflightFindings space(const SpaceNeeds& needs, const SpaceFacts& facts) {
  PreflightFindings findings;
  check_space(needs, facts, "cache", findings);
  return findings;
}

TEST(StoreChecks, SpaceForFinalsAndTheLargestChunksIsRequired) {
  const SpaceNeeds needs = {
      .finals = 2 * kGb, .chunks = 4 * kGb, .largest_chunks = kGb, .largest_file = kGb};
  EXPECT_EQ(space(needs, {.free_bytes = 7 * kGb}).count(Grade::kGreen), 1);
  EXPECT_EQ(space(needs, {.free_bytes = 4 * kGb}).count(Grade::kYellow), 1);
  const PreflightFindings full = space(needs, {.free_bytes = 2 * kGb});
  EXPECT_EQ(full.exit_code(), ExitCode::kIoError);
  EXPECT_EQ(full.all().back().code, "preflight.space");
  EXPECT_THAT(full.all().back().found, HasSubstr("expected 3.0 GB\nfound 2.0 GB"));
}

TEST(StoreChecks, TheLimitOfFileSizesCounts) {
  const SpaceNeeds needs = {.finals = kGb, .largest_file = kGb};
  EXPECT_EQ(space(needs, {.free_bytes = 9 * kGb, .file_limit_bytes = kGb / 2}).exit_code(),
            ExitCode::kIoError);
  EXPECT_EQ(space(needs, {.free_bytes = 9 * kGb, .file_limit_bytes = 2 * kGb}).exit_code(),
            ExitCode::kOk);
}

RunConfig on_gpu() {
  RunConfig config;
  config.hardware.device = "cuda";
  return config;
}

bool finds(const RunConfig& config, Grade grade, const std::string& text) {
  PreflightFindings findings;
  check_defences(config, findings);
  for (const PreflightFinding& finding : findings.all()) {
    if (finding.grade == grade && finding.found.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(DefenceChecks, EachDefenceIsInForceByDefault) {
  EXPECT_TRUE(finds(on_gpu(), Grade::kGreen, "expandable_segments:True"));
  EXPECT_TRUE(finds(on_gpu(), Grade::kGreen, "after 50 chunks"));
  EXPECT_TRUE(finds(on_gpu(), Grade::kGreen, "a row that kills every worker is found"));
  EXPECT_TRUE(finds(on_gpu(), Grade::kGreen, "no final while a row is set aside"));
  EXPECT_FALSE(finds(on_gpu(), Grade::kYellow, ""));
}

TEST(DefenceChecks, ACpuHasNoAllocatorToShow) {
  RunConfig config;
  config.hardware.devices = {"cpu", "cpu"};
  EXPECT_FALSE(finds(config, Grade::kGreen, "expandable_segments"));
  config.hardware.devices = {"cuda:0", "cuda:1"};
  EXPECT_TRUE(finds(config, Grade::kGreen, "expandable_segments:True"));
}

TEST(DefenceChecks, TheRunMayChooseTheSizeOfChunks) {
  RunConfig config;
  config.store.chunk_size = kAutoChunkRows;
  EXPECT_TRUE(finds(config, Grade::kGreen, "a size that the run chooses"));
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
