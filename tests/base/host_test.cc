#include "base/host.h"

#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace encode {
namespace {

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

TEST(HostMemory, IsNotDividedByAnUnknownLimit) { EXPECT_EQ(HostMemory{}.used_percent(), 0); }

TEST(ResidentBytes, SeeMemoryThatIsTouched) {
  constexpr int64_t kBytes = int64_t{32} << 20;
  const int64_t before = resident_bytes();
  const std::vector<char> touched(kBytes, 1);
  EXPECT_GE(resident_bytes() - before, kBytes * 9 / 10);
  EXPECT_GE(peak_resident_bytes(), before + kBytes * 9 / 10);
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
