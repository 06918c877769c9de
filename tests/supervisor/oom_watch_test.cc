// Tests that a worker which the kernel killed for lack of host memory is recognised, and that its
// successors get smaller windows.
#include "supervisor/worker/oom_watch.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using ::testing::HasSubstr;

struct Counts {
  std::optional<OomKills> before;
  std::optional<OomKills> after;
};

std::optional<ErrorDetail> cause(const Counts& counts, const ExitStatus& status) {
  bool first = true;
  const OomWatch watch([&] { return std::exchange(first, false) ? counts.before : counts.after; });
  return watch.cause(status);
}

OomKills kills(int64_t count) { return {.count = count, .source = "memory.events"}; }

const ExitStatus kKilled = {.code = 0, .signal = SIGKILL, .peak_resident_bytes = 480'000'000};

TEST(OomWatch, NamesTheLimitAndThePeakAndAsksToGoOn) {
  const auto error = cause({kills(3), kills(4)}, kKilled);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code.name(), "host.oom_kill");
  EXPECT_EQ(error->exit_code, ExitCode::kTempFail);
  EXPECT_EQ(error->where, "memory.events");
  EXPECT_THAT(error->expected, HasSubstr("memory limit of"));
  EXPECT_THAT(error->found, HasSubstr("480.0 MB"));
  EXPECT_THAT(error->found, HasSubstr("from 3 to 4"));
  EXPECT_THAT(error->hint, HasSubstr("memory"));
}

TEST(OomWatch, IsLessSureWithTheCountOfTheWholeMachine) {
  OomKills before = kills(3);
  OomKills after = kills(4);
  before.whole_machine = after.whole_machine = true;
  EXPECT_THAT(cause({before, after}, kKilled)->what, HasSubstr("probably"));
}

TEST(OomWatch, OtherEndsAreNotTakenForALackOfMemory) {
  OomKills elsewhere = kills(4);
  elsewhere.source = "another file";
  const ExitStatus crashed = {.code = 0, .signal = SIGSEGV};
  const ExitStatus ended = {.code = 75, .signal = 0};
  EXPECT_FALSE(cause({kills(3), kills(3)}, kKilled)) << "somebody else sent SIGKILL";
  EXPECT_FALSE(cause({kills(3), kills(2)}, kKilled)) << "another group counts";
  EXPECT_FALSE(cause({kills(3), kills(4)}, crashed));
  EXPECT_FALSE(cause({kills(3), kills(4)}, ended));
  EXPECT_FALSE(cause({std::nullopt, kills(4)}, kKilled));
  EXPECT_FALSE(cause({kills(3), std::nullopt}, kKilled));
  EXPECT_FALSE(cause({kills(3), elsewhere}, kKilled));
}

TEST(WindowShare, HalvesOnlyAfterAKillForLackOfMemoryAndNeverGrows) {
  WindowShare share;
  EXPECT_EQ(share.value(), 1);
  EXPECT_FALSE(share.halve_after("worker.died"));
  EXPECT_EQ(share.value(), 1);
  EXPECT_TRUE(share.halve_after(kOomKill));
  EXPECT_EQ(share.value(), 0.5);
  int64_t halved = 1;
  while (share.halve_after(kOomKill)) ++halved;
  EXPECT_EQ(halved, 6);
  EXPECT_EQ(share.value(), 1.0 / 64) << "a window keeps a size";
}

}  // namespace
}  // namespace encode
