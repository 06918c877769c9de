// Tests that a plan uses the memory that it may use, and no more.
#include "run_plan/memory/planned_batch.h"

#include <gtest/gtest.h>

#include "run_plan/memory/shapes.h"

namespace encode::testing {
namespace {

MemoryRoom card(int64_t gigabytes) {
  return {.kind = DeviceKind::kCuda,
          .free_bytes = gigabytes * kGigabyte,
          .total_bytes = gigabytes * kGigabyte};
}

TEST(PlannedBatch, LandsBetween80And85PercentOfTheCard) {
  for (const char* model : {kBertBase, kMiniLm, kQwen2}) {
    for (const int64_t gigabytes : {16, 24, 32, 40, 48, 80, 141}) {
      const PlannedBatch planned = plan_batch(request_for(model), card(gigabytes));
      ASSERT_EQ(planned.limit, BatchLimit::kMemory);
      EXPECT_GE(planned.share, 0.80) << gigabytes;
      EXPECT_LE(planned.share, 0.85) << gigabytes;
    }
  }
}

// Shows that the batch is the largest one: one more launch is above the margin.
TEST(PlannedBatch, OneMoreLaunchDoesNotFit) {
  MemoryRequest request = request_for(kQwen2);
  const MemoryRoom room = card(24);
  const PlannedBatch planned = plan_batch(request, room);
  ASSERT_EQ(planned.limit, BatchLimit::kMemory);
  EXPECT_EQ(planned.batches.budget_tokens % request.batches.launch_tokens, 0);
  request.batches.budget_tokens = planned.batches.budget_tokens + request.batches.launch_tokens;
  EXPECT_GT(corrected_estimate(request, room).total_bytes(), room.usable_bytes());
}

TEST(PlannedBatch, ShrinksWithTheFreeMemoryAndWithTheCorrection) {
  const MemoryRequest request = request_for(kBertBase);
  MemoryRoom room = card(80);
  const int64_t alone = plan_batch(request, room).batches.budget_tokens;
  room.free_bytes /= 2;
  const int64_t shared = plan_batch(request, room).batches.budget_tokens;
  EXPECT_LT(shared, alone);
  room.correction = 1.2;
  EXPECT_LT(plan_batch(request, room).batches.budget_tokens, shared);
}

TEST(PlannedBatch, IsNotLargerThanTheTextsFill) {
  MemoryRequest request = request_for(kMiniLm);
  request.texts = {.rows = 1000, .tokens = 20'000, .text_bytes = 80'000, .longest_row_tokens = 60};
  const PlannedBatch planned = plan_batch(request, card(80));
  EXPECT_EQ(planned.limit, BatchLimit::kTexts);
  EXPECT_LE(planned.batches.budget_tokens, 20'000 + request.batches.launch_tokens);
}

TEST(PlannedBatch, ExplainsASizeThatWasNotAskedFor) {
  const auto explain = [](const AskedBatch& asked, int64_t rows, int64_t tokens, DeviceKind kind) {
    const SpeedOptions speed = {.batch_size = rows, .batch_tokens = tokens};
    return explain_batches(asked, speed, plan_batches(speed, 4096, 256, {.kind = kind}));
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const DeviceKind gpu = DeviceKind::kCuda;
  EXPECT_EQ(explain({}, 32, 0, gpu), "") << "nothing was asked for";
  EXPECT_EQ(explain({.rows = 64}, 64, 0, gpu), "");
  EXPECT_TRUE(has(explain({.rows = 100'000}, 100'000, 0, gpu),
                  "the default of --batch-tokens limits a batch to 16,384 tokens"));
  EXPECT_TRUE(has(explain({.tokens = 65'536}, 32, 65'536, gpu), "--batch-size 0 lifts"));
  EXPECT_TRUE(has(explain({.rows = 1}, 1, 0, gpu), "whole launches of 4,096 tokens"));
  EXPECT_TRUE(has(explain({.rows = 100'000}, 100'000, 0, DeviceKind::kCpu), "at most 512 tokens"));
}

TEST(PlannedBatch, SaysThatNothingFits) {
  EXPECT_EQ(plan_batch(request_for(kQwen2), card(2)).limit, BatchLimit::kNothingFits);
}

TEST(PlannedBatch, ACpuWithLittleMemoryGetsFewerThreads) {
  const MemoryRequest request = cpu_request_for(kBertBase);
  MemoryRoom room = {.kind = DeviceKind::kCpu,
                     .free_bytes = 64 * kGigabyte,
                     .total_bytes = 64 * kGigabyte,
                     .threads = 32};
  const PlannedBatch plenty = plan_batch(request, room);
  EXPECT_EQ(plenty.threads, 32);
  EXPECT_EQ(plenty.batches.budget_tokens, 512);
  room.free_bytes = kGigabyte;
  const PlannedBatch tight = plan_batch(request, room);
  EXPECT_LT(tight.threads, 32);
  EXPECT_LE(tight.memory.total_bytes(), room.usable_bytes());
}

TEST(PlannedBatch, StaysWithinTheLimitOfTheRun) {
  MemoryRoom room = {.kind = DeviceKind::kCpu,
                     .free_bytes = 64 * kGigabyte,
                     .total_bytes = 64 * kGigabyte,
                     .run_bytes = kGigabyte,
                     .threads = 32};
  EXPECT_EQ(room.usable_bytes(), kGigabyte) << "the margin is for the other processes";
  EXPECT_TRUE(room.limited_by_run());
  const PlannedBatch tight = plan_batch(cpu_request_for(kBertBase), room);
  EXPECT_LT(tight.threads, 32);
  EXPECT_LE(tight.memory.total_bytes(), kGigabyte);
  room.free_bytes = kGigabyte;
  EXPECT_FALSE(room.limited_by_run()) << "less is free than the limit allows";
  EXPECT_LT(room.usable_bytes(), kGigabyte);
}

}  // namespace
}  // namespace encode::testing
