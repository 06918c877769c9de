#include "base/host.h"

#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::TempDir;

constexpr int64_t kKibi = 1024;

TEST(HostMemory, IsWithinItsLimit) {
  const HostMemory memory = host_memory();
  EXPECT_GT(memory.limit_bytes, int64_t{64} << 20);
  EXPECT_GT(memory.available_bytes, 0);
  EXPECT_LE(memory.available_bytes, memory.limit_bytes);
}

TEST(HostMemory, IsDescribedAsInTheLog) {
  const HostMemory memory{.limit_bytes = 100'000'000'000, .available_bytes = 61'300'000'000};
  EXPECT_DOUBLE_EQ(memory.used_percent(), 38.7);
  EXPECT_EQ(describe(memory), "host memory 38.7% (61.3 GB available)");
}

// A folder with copies of the kernel's files: a machine of 64 GB of which 40 GB are available.
class HostFiles : public ::testing::Test {
 protected:
  HostFiles() {
    root_.write("proc/meminfo",
                "MemTotal:       64000000 kB\nMemFree: 1 kB\nMemAvailable:   40000000 kB\n");
  }
  HostMemory read() const { return host_memory(root_.path()); }
  // Writes a file of a cgroup.
  void group(const std::string& name, const std::string& text) {
    root_.write("sys/fs/cgroup/" + name, text);
  }

  TempDir root_;
};

TEST_F(HostFiles, WithoutALimitGiveTheMachine) {
  EXPECT_EQ(read().limit_bytes, 64'000'000 * kKibi);
  EXPECT_EQ(read().available_bytes, 40'000'000 * kKibi);
  root_.write("proc/self/cgroup", "0::/job\n");
  group("job/memory.max", "max\n");
  group("job/memory.high", "max\n");
  group("job/memory.current", "5000\n");
  EXPECT_EQ(read().limit_bytes, 64'000'000 * kKibi);
  EXPECT_EQ(read().stalled_percent, 0);
}

TEST_F(HostFiles, OfVersion2CountThePageCacheOfFilesThatNobodyMapsAsAvailable) {
  root_.write("proc/self/cgroup", "0::/slurm/job\n");
  group("slurm/job/memory.max", "8000000\n");
  group("slurm/job/memory.current", "5000000\n");
  group("slurm/job/memory.stat",
        "anon 1\nfile 2500000\nfile_mapped 300000\ninactive_file 1500000\nactive_file 800000\n");
  EXPECT_EQ(read().limit_bytes, 8'000'000);
  EXPECT_EQ(read().available_bytes, 5'000'000);
  EXPECT_DOUBLE_EQ(read().used_percent(), 37.5);
}

TEST_F(HostFiles, OfVersion2LimitAtTheMarkWhereTheKernelSlowsDown) {
  root_.write("proc/self/cgroup", "0::/job\n");
  group("job/memory.max", "8000000\n");
  group("job/memory.high", "6000000\n");
  group("job/memory.current", "5000000\n");
  EXPECT_EQ(read().limit_bytes, 6'000'000);
  EXPECT_EQ(read().available_bytes, 1'000'000);
}

TEST_F(HostFiles, TheSmallestLimitAndTheSmallestFreeMemoryOfTheGroupsCount) {
  root_.write("proc/self/cgroup", "0::/slurm/job/step\n");
  group("slurm/memory.max", "9000000\n");
  group("slurm/memory.current", "8900000\n");
  group("slurm/job/memory.max", "8000000\n");
  group("slurm/job/memory.current", "2000000\n");
  EXPECT_EQ(read().limit_bytes, 8'000'000);
  EXPECT_EQ(read().available_bytes, 100'000) << "other jobs have used the memory of the parent";
}

TEST_F(HostFiles, OfVersion1LimitToo) {
  root_.write("proc/self/cgroup", "4:memory:/docker/a1\n1:cpu:/\n0::/\n");
  group("memory/docker/a1/memory.limit_in_bytes", "600000000\n");
  group("memory/docker/a1/memory.usage_in_bytes", "550000000\n");
  group("memory/docker/a1/memory.stat", "inactive_file 1\ntotal_inactive_file 100000000\n");
  group("memory/memory.limit_in_bytes", "9223372036854771712\n");
  group("memory/memory.usage_in_bytes", "9000000000\n");
  EXPECT_EQ(read().limit_bytes, 600'000'000);
  EXPECT_EQ(read().available_bytes, 150'000'000);
}

// A hybrid system has the memory controller in version 1, and the stalls in version 2.
TEST_F(HostFiles, OfAHybridSystemComeFromBothVersions) {
  root_.write("proc/self/cgroup", "4:memory:/a1\n0::/b\n");
  group("memory/a1/memory.limit_in_bytes", "600000000\n");
  group("memory/a1/memory.usage_in_bytes", "550000000\n");
  group("unified/cgroup.controllers", "\n");
  group("unified/b/memory.pressure",
        "some avg10=12.50 avg60=1.00 avg300=0.00 total=1\nfull avg10=3.00\n");
  EXPECT_EQ(read().available_bytes, 50'000'000);
  EXPECT_DOUBLE_EQ(read().stalled_percent, 12.5);
}

TEST_F(HostFiles, GiveTheStallsOfTheMachineIfNoGroupCountsThem) {
  root_.write("proc/self/cgroup", "0::/\n");
  root_.write("proc/pressure/memory", "some avg10=7.25 avg60=0.00 avg300=0.00 total=9\n");
  EXPECT_DOUBLE_EQ(read().stalled_percent, 7.25);
  group("memory.pressure", "some avg10=damaged\n");
  EXPECT_EQ(read().stalled_percent, 0);
}

class MostMemory : public HostFiles {
 protected:
  int64_t most() const { return most_memory_bytes(root_.path()); }
  void zones(int64_t pages) {
    root_.write("proc/zoneinfo",
                "Node 0, zone   DMA\n  pages free     3\n        present  1000\n"
                "        managed  900\nNode 0, zone   Normal\n        present  " +
                    std::to_string(pages) + "\n");
  }
  static int64_t bytes(int64_t pages) { return pages * ::sysconf(_SC_PAGESIZE); }
};

// A balloon has taken the pages that MemTotal lacks, and gives them back on use.
TEST_F(MostMemory, CountsThePagesThatABalloonHasTaken) {
  constexpr int64_t kPages = 40'000'000;  // at least 160 GB beside a MemTotal of 64 GB
  zones(kPages);
  EXPECT_EQ(most(), bytes(kPages + 1000));
  EXPECT_EQ(read().limit_bytes, 64'000'000 * kKibi) << "there is no more now";
}

TEST_F(MostMemory, IsNeverLessThanThereIsNow) {
  zones(5);
  EXPECT_EQ(most(), 64'000'000 * kKibi);
}

TEST_F(MostMemory, IsWithinTheLimitOfTheGroup) {
  root_.write("proc/self/cgroup", "0::/job\n");
  group("job/memory.max", "8000000\n");
  EXPECT_EQ(most(), 8'000'000);
  zones(40'000'000);
  EXPECT_EQ(most(), 8'000'000);
}

TEST_F(MostMemory, IsNotKnownIfTotalMayGrowWithoutALimit) { EXPECT_EQ(most(), 0); }

TEST_F(HostFiles, AreReadAgainForEachDecision) {
  EXPECT_EQ(read().available_bytes, 40'000'000 * kKibi);
  root_.write("proc/meminfo", "MemTotal:       99000000 kB\nMemAvailable:   70000000 kB\n");
  EXPECT_EQ(read().limit_bytes, 99'000'000 * kKibi);
  EXPECT_EQ(read().available_bytes, 70'000'000 * kKibi);
}

TEST(HostMemory, OfAFewProcessesIsWithinTheHosts) {
  const HostMemory host = {.limit_bytes = 1000, .available_bytes = 600};
  EXPECT_EQ(within(host, 500, 100).limit_bytes, 500);
  EXPECT_EQ(within(host, 500, 100).available_bytes, 400);
  EXPECT_EQ(within(host, 800, 100).available_bytes, 600) << "others use the host, too";
  EXPECT_EQ(within(host, 5000, 100).limit_bytes, 1000);
  EXPECT_EQ(within(host, 500, 700).available_bytes, 0);
}

TEST(HostMemory, IsNotDividedByAnUnknownLimit) { EXPECT_EQ(HostMemory{}.used_percent(), 0); }

TEST(ResidentBytes, SeeMemoryThatIsTouched) {
  constexpr int64_t kBytes = int64_t{32} << 20;
  const int64_t before = resident_bytes();
  const std::vector<char> touched(kBytes, 1);
  EXPECT_GE(resident_bytes() - before, kBytes * 9 / 10);
  EXPECT_GE(peak_resident_bytes(), before + kBytes * 9 / 10);
}

TEST(ResidentBytes, OfAnotherProcessCanBeRead) {
  EXPECT_GT(resident_bytes(::getppid()), 0);
  EXPECT_EQ(resident_bytes(pid_t{0x7ffffff}), 0) << "no such process";
}

TEST(CpuQuota, FollowsTheAffinityOfTheThread) {
  const int64_t all = cpu_quota();
  EXPECT_GE(all, 1);
  EXPECT_LE(all, static_cast<int64_t>(std::thread::hardware_concurrency()));
  int64_t one = 0;
  std::thread([&one] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(::sched_getcpu(), &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
    one = cpu_quota();
  }).join();
  EXPECT_EQ(one, 1);
}

TEST(HostName, IsNotEmpty) { EXPECT_FALSE(host_name().empty()); }

}  // namespace
}  // namespace encode
