// Tests where the count of kills for lack of memory comes from, with copies of the kernel's files.
#include "base/oom_kills.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::TempDir;

constexpr const char* kEvents = "low 0\nhigh 0\nmax 120\noom 3\noom_kill 2\noom_group_kill 0\n";
constexpr const char* kControl = "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n";
constexpr const char* kVmstat = "nr_free_pages 1\noom_kill 7\n";

TEST(OomKills, ComeFromTheNearestGroupOfVersion2) {
  const TempDir root;
  root.write("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  root.write("sys/fs/cgroup/slurm/job_7/memory.events", kEvents);
  root.write("sys/fs/cgroup/slurm/memory.events", "oom_kill 9\n");
  root.write("proc/vmstat", kVmstat);
  const auto kills = oom_kills(root.path());
  ASSERT_TRUE(kills);
  EXPECT_EQ(kills->count, 2);
  EXPECT_EQ(kills->source, root.file("sys/fs/cgroup/slurm/job_7/memory.events"));
  EXPECT_FALSE(kills->whole_machine);
}

TEST(OomKills, ComeFromTheGroupOfTheMemoryControllerOfVersion1) {
  const TempDir root;
  root.write("proc/self/cgroup", "5:devices:/other\n4:memory:/docker/a1\n1:cpu,cpuacct:/\n0::/\n");
  root.write("sys/fs/cgroup/memory/docker/a1/memory.oom_control", kControl);
  root.write("proc/vmstat", kVmstat);
  EXPECT_EQ(oom_kills(root.path())->count, 5);
}

TEST(OomKills, OfAContainerComeFromTheRootOfItsMount) {
  const TempDir root;
  root.write("proc/self/cgroup", "4:memory:/docker/a1\n");
  root.write("sys/fs/cgroup/memory/memory.oom_control", kControl);
  EXPECT_EQ(oom_kills(root.path())->count, 5);
}

TEST(OomKills, OfTheWholeMachineAreMarked) {
  const TempDir root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/vmstat", kVmstat);
  const auto kills = oom_kills(root.path());
  ASSERT_TRUE(kills);
  EXPECT_EQ(kills->count, 7);
  EXPECT_TRUE(kills->whole_machine);
}

TEST(OomKills, AreAbsentIfTheKernelCountsNone) {
  const TempDir root;
  EXPECT_FALSE(oom_kills(root.path()));
  root.write("proc/vmstat", "oom_kill many\n");
  EXPECT_FALSE(oom_kills(root.path())) << "a damaged count is not 0";
}

TEST(OomKills, OfThisMachineCanBeRead) { EXPECT_TRUE(oom_kills()); }

}  // namespace
}  // namespace encode
