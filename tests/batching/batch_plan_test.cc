// Tests that a plan follows the batch settings of its stream and never changes a bit of the result.
// On a GPU, all matrix products of a model have the same number of rows (a launch), and every token
// budget is a multiple of this number.
#include "encode/batch_plan.h"

#include <gtest/gtest.h>

namespace encode {
namespace {

constexpr int64_t kLaunch = 4096;
constexpr int64_t kLongest = 512;

DeviceFacts gpu() { return {.kind = DeviceKind::kCuda, .name = "GPU", .place = "cuda:0"}; }
DeviceFacts cpu(int64_t threads) {
  return {.kind = DeviceKind::kCpu, .name = "cpu", .place = "cpu", .threads = threads};
}

BatchPlan plan(int64_t batch_size, int64_t batch_tokens, const DeviceFacts& device) {
  SpeedOptions speed;
  speed.batch_size = batch_size;
  speed.batch_tokens = batch_tokens;
  return plan_batches(speed, kLaunch, kLongest, device);
}

TEST(BatchPlan, GpuBudgetIsWholeLaunchesBelowEveryLimit) {
  EXPECT_EQ(plan(0, 0, gpu()).budget_tokens, 16384) << "nothing is asked for";
  EXPECT_EQ(plan(0, 10'000, gpu()).budget_tokens, 8192);
  EXPECT_EQ(plan(0, 100'000, gpu()).budget_tokens, 98'304);
  EXPECT_EQ(plan(24, 0, gpu()).budget_tokens, 12'288) << "24 rows of 512 tokens";
  EXPECT_EQ(plan(24, 10'000, gpu()).budget_tokens, 8192) << "the smaller limit counts";
  EXPECT_EQ(plan(1, 0, gpu()).budget_tokens, kLaunch) << "one launch at least";
  EXPECT_EQ(plan(0, 1, gpu()).budget_tokens, kLaunch);
}

TEST(BatchPlan, CpuBudgetIsABlockOrLess) {
  EXPECT_EQ(plan(0, 0, cpu(2)).budget_tokens, 512);
  EXPECT_EQ(plan(32, 16'384, cpu(2)).budget_tokens, 512);
  EXPECT_EQ(plan(0, 100, cpu(2)).budget_tokens, 100);
  EXPECT_EQ(plan(0, 0, cpu(2)).launch_tokens, 0) << "a product takes any number of rows";
}

TEST(BatchPlan, WindowFeedsEveryThread) {
  EXPECT_EQ(window_tokens(plan(0, 0, cpu(3))), 3 * window_tokens(plan(0, 0, cpu(1))));
  EXPECT_EQ(window_tokens(plan(0, 0, gpu())), 16 * 16384);
}

TEST(Windows, HaveMoreRowsOnlyWithMoreMemory) {
  EXPECT_EQ(window_rows(1), 4096);
  EXPECT_EQ(window_rows(int64_t{16} << 20), 4096);
  EXPECT_EQ(window_rows(int64_t{32} << 20), 8192);
}

// halved() can be repeated until the budget is one launch. Each result is a plan that the user
// could have configured, so committed chunks stay valid.
TEST(BatchPlan, HalvingEndsAtOneLaunchAndKeepsTheLaunches) {
  BatchPlan now = plan(0, 100'000, gpu());
  int steps = 0;
  for (BatchPlan next = halved(now); next != now; next = halved(now), ++steps) {
    EXPECT_LE(next.budget_tokens, now.budget_tokens / 2 + kLaunch);
    EXPECT_LT(next.budget_tokens, now.budget_tokens);
    EXPECT_EQ(next.budget_tokens % kLaunch, 0);
    EXPECT_EQ(next.launch_tokens, kLaunch);
    now = next;
  }
  EXPECT_EQ(now.budget_tokens, kLaunch);
  EXPECT_EQ(steps, 4);
  BatchPlan tiny = plan(0, 3, cpu(1));
  for (int i = 0; i < 5; ++i) tiny = halved(tiny);
  EXPECT_EQ(tiny.budget_tokens, 1);
}

TEST(LaunchTokens, FallWithTheWidthAndStayPowersOfTwo) {
  EXPECT_EQ(launch_tokens(384), 16384);  // all-MiniLM-L6-v2
  EXPECT_EQ(launch_tokens(768), 8192);   // bge-base
  EXPECT_EQ(launch_tokens(1024), 4096);  // bge-large
  EXPECT_EQ(launch_tokens(1536), 4096);  // Qwen2-1.5B
  EXPECT_EQ(launch_tokens(4096), 2048);
  EXPECT_EQ(launch_tokens(16384), 2048);
  EXPECT_EQ(launch_tokens(1), 16384);
}

TEST(BatchPlan, InWords) {
  EXPECT_EQ(describe(plan(0, 0, gpu())),
            "batches of at most 16,384 tokens (4,096 at a time on the GPU), rows of at most 512");
  EXPECT_EQ(describe(plan(0, 0, cpu(2))), "batches of at most 512 tokens, rows of at most 512");
}

}  // namespace
}  // namespace encode
