#include "job/tokenize_plan.h"

#include <gtest/gtest.h>

namespace encode::testing {
namespace {

// The budget of the host limits what the settings ask for, and JobUnit::window_share both.
TEST(PlanWindow, IsAsLargeAsTheSettingsAskForWithinTheBudget) {
  JobUnit unit;
  constexpr int64_t kMiB = int64_t{1} << 20;
  unit.identity.dim = 384;
  const BatchPlan batches{.budget_tokens = 512, .batches_at_once = 2};
  EXPECT_EQ(plan_window(unit, batches, {}),
            (WindowSize{.rows = 4096, .text_bytes = 16 * kMiB, .tokens = 16384}));
  unit.speed.prefetch_bytes = int64_t{1} << 40;
  EXPECT_EQ(plan_window(unit, batches, {}).rows, 16 * kMiB);
  const HostBudget budget = {
      .text_bytes = 16 * kMiB, .token_bytes = 48 * kMiB, .vector_bytes = 64 * kMiB};
  EXPECT_EQ(
      plan_window(unit, batches, budget),
      (WindowSize{.rows = 64 * kMiB / (4 * 384 * 4), .text_bytes = 4 * kMiB, .tokens = 16384}));
  unit.window_share = 0.5;
  EXPECT_EQ(plan_window(unit, batches, budget).text_bytes, 2 * kMiB);
}

// Two workers of a run divide the processors and the memory for reading ahead.
TEST(PlanTokenizing, AWorkerGetsItsShareOfTheHost) {
  JobUnit unit;
  unit.effective.launch_tokens = 2048;
  unit.identity.dim = 4;
  unit.speed = {.threads = 8, .tokenizer_threads = 6, .prefetch_bytes = 1 << 20};
  const BatchPlan batches{.budget_tokens = 2048, .launch_tokens = 2048, .batches_at_once = 1};
  const TokenizePlan whole = plan_tokenizing(unit, {}, nullptr, batches);
  unit.host_share = 0.5;
  const TokenizePlan half = plan_tokenizing(unit, {}, nullptr, batches);
  EXPECT_EQ(half.window.text_bytes * 2, whole.window.text_bytes);
  EXPECT_EQ(half.threads, 3);
  EXPECT_EQ(host_threads(unit, 8), 4);
  EXPECT_EQ(host_threads(unit, 1), 1) << "a worker has at least one thread";
}

}  // namespace
}  // namespace encode::testing
