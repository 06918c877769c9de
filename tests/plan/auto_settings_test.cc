// Tests what `auto` in a config becomes at the start of a run.
#include "run_plan/auto_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_plan/memory/shapes.h"

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
  StreamConfig stream;
  stream.auto_batch = {.size = true, .tokens = true};
  const std::string note = choose_batches(stream, request(), card());
  EXPECT_GT(stream.speed.batch_tokens, 16384);
  EXPECT_EQ(stream.speed.batch_size, 0) << "no other limit";
  EXPECT_FALSE(stream.auto_batch.any()) << "it is chosen once";
  EXPECT_THAT(note, ::testing::HasSubstr("20.0 GB"));
  MemoryRequest planned = request();
  planned.batches.budget_tokens = stream.speed.batch_tokens;
  EXPECT_LE(estimate_cuda(planned).total_bytes(), card().free_bytes * 85 / 100);
}

TEST(AutoSettings, OnACpuTheUsualBatchStays) {
  StreamConfig stream;
  stream.auto_batch.size = true;
  choose_batches(stream, request(), std::nullopt);
  EXPECT_EQ(stream.speed.batch_size, 0);
  EXPECT_EQ(stream.speed.batch_tokens, 0);
}

TEST(AutoSettings, WhatTheUserHasSetStays) {
  StreamConfig stream;
  stream.speed.batch_size = 7;
  stream.auto_batch.tokens = true;
  choose_batches(stream, request(), card());
  EXPECT_EQ(stream.speed.batch_size, 7);
  EXPECT_GT(stream.speed.batch_tokens, 0);
}

}  // namespace
}  // namespace encode::testing
