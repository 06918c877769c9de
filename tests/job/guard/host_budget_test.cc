// Tests how the memory of the host is divided among the parts of a worker.
#include "job/host_budget.h"

#include <gtest/gtest.h>

namespace encode {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

MemoryNeeds needs_of(int64_t limit_bytes, int64_t used_bytes) {
  return {.limit_bytes = limit_bytes, .used_bytes = used_bytes, .pressure_percent = 85};
}

int64_t sum(const HostBudget& budget) {
  return budget.read_ahead_bytes() + budget.vector_bytes + budget.pinned_bytes + budget.cache_bytes;
}

TEST(HostBudget, IsWhatTheMarkLeavesFree) {
  const HostBudget budget = plan_host_budget(needs_of(1000 * kMiB, 450 * kMiB));
  EXPECT_EQ(sum(budget), 400 * kMiB);
  EXPECT_EQ(budget.vector_bytes, 200 * kMiB);
  EXPECT_EQ(budget.text_bytes, 50 * kMiB);
  EXPECT_EQ(budget.token_bytes, 150 * kMiB);
}

TEST(HostBudget, LeavesRoomForTheComputationAndTheLongestRow) {
  MemoryNeeds needs = needs_of(1000 * kMiB, 450 * kMiB);
  needs.threads = 2;
  needs.batch_tokens = 512;
  needs.dim = 384;
  needs.longest_row_bytes = kMiB;
  EXPECT_EQ(sum(plan_host_budget(needs)), (400 - 2 * 12 - 16) * kMiB);
}

TEST(HostBudget, IsDividedAmongTheWorkers) {
  MemoryNeeds needs = needs_of(1000 * kMiB, 450 * kMiB);
  needs.workers = 4;
  EXPECT_EQ(sum(plan_host_budget(needs)), 100 * kMiB);
}

TEST(HostBudget, OfCachesIsWhatTheyAskForButAtMostHalf) {
  MemoryNeeds needs = needs_of(1000 * kMiB, 450 * kMiB);
  needs.cache_bytes = 64 * kMiB;
  needs.pinned_bytes = 16 * kMiB;
  const HostBudget some = plan_host_budget(needs);
  EXPECT_EQ(some.cache_bytes, 64 * kMiB);
  EXPECT_EQ(some.pinned_bytes, 16 * kMiB);
  EXPECT_EQ(sum(some), 400 * kMiB);
  needs.cache_bytes = int64_t{1} << 50;
  EXPECT_EQ(plan_host_budget(needs).cache_bytes, 192 * kMiB);
}

// A run with too little memory must go on.
TEST(HostBudget, OfWindowsIsNeverNothing) {
  for (const int64_t used : {850, 1000, 2000}) {
    const HostBudget budget = plan_host_budget(needs_of(1000 * kMiB, used * kMiB));
    EXPECT_EQ(budget.vector_bytes, kMiB);
    EXPECT_EQ(budget.text_bytes, kMiB);
    EXPECT_EQ(budget.token_bytes, kMiB);
    EXPECT_EQ(budget.cache_bytes, 0);
  }
}

TEST(HostBudget, WithoutValuesLimitsNothing) {
  EXPECT_GT(HostBudget().read_ahead_bytes(), int64_t{1} << 60);
  EXPECT_GT(HostBudget().vector_bytes, int64_t{1} << 60);
}

}  // namespace
}  // namespace encode
