#include "job/release_rule.h"

#include <gtest/gtest.h>

namespace encode {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kModel = 240 * kMib;

// The memory of the device at the end of a chunk, with this much of it unused.
DeviceMemory with_unused(int64_t mib) {
  return {.allocated_bytes = kModel, .reserved_bytes = kModel + mib * kMib};
}

TEST(ReleaseRule, TheWorkingSetOfABatchStays) {
  ReleaseRule rule;
  for (const int64_t mib : {400, 400, 390, 420, 400}) EXPECT_FALSE(rule.due(with_unused(mib)));
}

TEST(ReleaseRule, WhatABatchDoesNotNeedIsReleased) {
  ReleaseRule rule;
  EXPECT_FALSE(rule.due(with_unused(400)));
  EXPECT_FALSE(rule.due(with_unused(500))) << "a quarter more";
  EXPECT_TRUE(rule.due(with_unused(501)));
  EXPECT_FALSE(rule.due(with_unused(400))) << "the next batch takes its working set again";
  EXPECT_TRUE(rule.due(with_unused(800)));
}

TEST(ReleaseRule, AFewSegmentsStayForASmallModel) {
  ReleaseRule rule;
  EXPECT_FALSE(rule.due(with_unused(10)));
  EXPECT_FALSE(rule.due(with_unused(74)));
  EXPECT_TRUE(rule.due(with_unused(75)));
}

// The first window of a run that goes on may have only a few rows.
TEST(ReleaseRule, AFirstWindowWithoutAFullBatchCostsOneRelease) {
  ReleaseRule rule;
  EXPECT_FALSE(rule.due(with_unused(20)));
  EXPECT_TRUE(rule.due(with_unused(400)));
  for (const int64_t mib : {400, 20, 400, 20, 400}) EXPECT_FALSE(rule.due(with_unused(mib)));
}

// Memory that the next batch needs again must not be released, which would only take time.
TEST(ReleaseRule, WhatEveryWindowNeedsStays) {
  ReleaseRule rule;
  EXPECT_FALSE(rule.due(with_unused(400)));
  EXPECT_TRUE(rule.due(with_unused(800)));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(rule.due(with_unused(800)));
}

TEST(ReleaseRule, ACpuReleasesNothing) {
  ReleaseRule rule;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(rule.due({}));
}

}  // namespace
}  // namespace encode
