// Shows that fault.cc notices a second fsync() after a failure and a removed lock file.
#include "store/fault.h"

#include <cstdio>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file.h"
#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

TEST(Failure, ControlSecondSyncAfterAFailureIsSeen) {
  const TempDir dir;
  FaultPlan plan = fault_plan(dir.path(), FaultMode::kErrno, 1);
  plan.error = EIO;
  std::snprintf(plan.call, sizeof plan.call, "fsync");
  const std::string path = dir.write("file", "x");
  const ChildResult result = run_child(
      [&](const auto&) {
        const UniqueFd fd = open_for_reading(path, "io.read");
        EXPECT_NE(::fsync(fd.get()), 0);
        ::fsync(fd.get());
      },
      plan);
  EXPECT_EQ(result.exit_code, kSyncedAgainStatus);
}

TEST(Failure, ControlRemovedLockIsSeen) {
  const TempDir dir;
  const std::string path = dir.write("LOCK", "");
  const ChildResult result = run_child([&](const auto&) { ::unlink(path.c_str()); },
                                       fault_plan(dir.path(), FaultMode::kNone, 0));
  EXPECT_EQ(result.exit_code, kLockRemovedStatus);
}

}  // namespace
}  // namespace encode::testing
