// Runs the plugin's kernels on the CPU in three schedules and compares them with host_kernels().
#include "random_calls.h"

#include <gtest/gtest.h>

#include "emulator.h"
#include "schedules.h"

namespace encode {
namespace {

constexpr int kCalls = 20;

using Parameters = std::tuple<testing::KernelUnderTest, emulator::Schedule>;

class RandomCalls : public ::testing::TestWithParam<Parameters> {};

TEST_P(RandomCalls, GiveTheResultsOfTheReference) {
  const auto& [kernel, schedule] = GetParam();
  emulator::set_schedule(schedule);
  std::mt19937_64 random(1);
  for (int call = 0; call < kCalls; ++call)
    EXPECT_EQ(testing::difference_of_a_random_call(*encode_cuda_kernels(), kernel, random), "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, RandomCalls,
                         ::testing::Combine(::testing::ValuesIn(testing::kernels_under_test()),
                                            ::testing::ValuesIn(testing::kSchedules)));

}  // namespace
}  // namespace encode
