#include "job/task_queue.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode::testing {
namespace {

using ::testing::ElementsAre;

// A worker claims stretches of chunks that fill a window. At the end it claims smaller and smaller
// stretches, so that other workers get a share.
TEST(TaskQueues, ClaimStretchesThatGetSmaller) {
  std::vector<ChunkTask> tasks;
  for (int64_t i = 0; i < 40; ++i) tasks.push_back({.index = i, .rows = {i, i + 1}});
  int64_t claims = 0;
  const auto claim = [&claims](const ChunkTask&) { return ++claims > 0; };
  TaskQueue queue(tasks, claim, {.most_chunks = 6, .shares = 4});
  std::vector<int64_t> stretches;
  for (int64_t seen = 0; queue.claim(); queue.pop()) {
    if (claims > seen) stretches.push_back(claims - seen);
    seen = claims;
  }
  EXPECT_EQ(claims, 40);
  EXPECT_THAT(stretches, ElementsAre(6, 6, 6, 5, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1));
}

}  // namespace
}  // namespace encode::testing
