// Tests what `auto` in a config becomes at the start of a run.
#include "supervisor/plan/auto_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/shapes.h"

namespace encode::testing {
namespace {

MemoryRequest request() {
  MemoryRequest request = request_for(kBertBase);
  request.texts = {.rows = 1'000'000,
                   .tokens = 300'000'000,
                   .text_bytes = 1'200'000'000,
                   .longest_row_tokens = 512};
  return request;
}

MemoryLimit card() {
  return {.kind = DeviceKind::kCuda,
          .name = "NVIDIA H100 80GB HBM3",
          .total_bytes = 80 * kGigabyte,
          .free_bytes = 20 * kGigabyte};
}

TEST(AutoSettings, OnAGpuGoByTheFreeMemory) {
  SpeedOptions speed;
  speed.batch_size = kAutoBatch;
  speed.batch_tokens = kAutoBatch;
  const ChosenSettings chosen = choose_settings(speed, request(), card());
  EXPECT_GT(chosen.speed.batch_tokens, 16384);
  EXPECT_EQ(chosen.speed.batch_size, 0) << "no other limit";
  ASSERT_EQ(chosen.notes.size(), 1U);
  EXPECT_THAT(chosen.notes.front(), ::testing::HasSubstr("20.0 GB"));
  MemoryRequest planned = request();
  planned.batches.budget_tokens = chosen.speed.batch_tokens;
  EXPECT_LE(estimate_cuda(planned).total_bytes(), card().free_bytes * 85 / 100);
}

TEST(AutoSettings, OnACpuTheUsualBatchStays) {
  SpeedOptions speed;
  speed.batch_size = kAutoBatch;
  const ChosenSettings chosen = choose_settings(speed, request(), std::nullopt);
  EXPECT_EQ(chosen.speed.batch_size, 0);
  EXPECT_EQ(chosen.speed.batch_tokens, 0);
}

TEST(AutoSettings, WhatTheUserHasSetStays) {
  SpeedOptions speed;
  speed.batch_size = 7;
  const ChosenSettings chosen = choose_settings(speed, request(), card());
  EXPECT_EQ(chosen.speed, speed);
  EXPECT_TRUE(chosen.notes.empty());
}

}  // namespace
}  // namespace encode::testing
