// Tests the emulator with small kernels, both right and wrong ones.
#include <fmt/format.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guarded_buffer.h"
#include "launch.cuh"
#include "schedules.h"

namespace encode::cuda {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kThreads = 96;
constexpr uint32_t kAllLanes = 0xffffffff;

// Runs the kernel. Returns the text of the KernelError, or "".
template <typename... Arguments>
std::string error_of(void (*kernel)(Arguments...), Arguments... arguments) {
  try {
    launch(kernel, {2, kThreads, 64}, nullptr, arguments...);
  } catch (const emulator::KernelError& error) {
    return error.what();
  }
  return "";
}

class Emulator : public ::testing::TestWithParam<emulator::Schedule> {
 protected:
  void SetUp() override { encode::emulator::set_schedule(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Schedules, Emulator, ::testing::ValuesIn(testing::kSchedules));

void index_kernel(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1000 * block + thread;
}

TEST_P(Emulator, RunsEachThreadOfTheGridOnce) {
  const dim3 grid(2, 3, 4);
  const dim3 block(5, 6, 7);
  constexpr unsigned kBlocks = 2 * 3 * 4;
  constexpr unsigned kBlockThreads = 5 * 6 * 7;
  std::vector<unsigned> out(size_t{kBlocks} * kBlockThreads);
  launch(index_kernel, {grid, block}, nullptr, out.data());
  for (unsigned i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], 1000 * (i / kBlockThreads) + i % kBlockThreads);
}

struct Sums;

// Sums 1 + threadIdx.x over the block with shuffles and shared memory.
void sum_kernel(unsigned* out) {
  unsigned sum = 1 + threadIdx.x;
  for (int distance = 16; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
  unsigned* sums = shared_array<Sums, unsigned, kThreads / 32>();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = sums[0] + sums[1] + sums[2];
}

TEST_P(Emulator, ExchangesValuesWithinAWarpAndABlock) {
  std::vector<unsigned> out(size_t{2} * kThreads);
  EXPECT_EQ(error_of(sum_kernel, out.data()), "");
  EXPECT_THAT(out, ::testing::Each(kThreads * (kThreads + 1) / 2));
}

void half_warp_kernel(int* out) {
  const bool low = threadIdx.x % 32 < 16;
  const uint32_t mask = low ? 0x0000ffff : 0xffff0000;
  const int lane = static_cast<int>(threadIdx.x % 32);
  int value = 0;
  if (low) {
    value = __shfl_sync(mask, lane, 3);
    __syncwarp(mask);
  } else {
    value = __shfl_xor_sync(mask, lane, 1);
  }
  if (blockIdx.x == 0) out[threadIdx.x] = value;
}

TEST_P(Emulator, LetsTwoHalvesOfAWarpGoDifferentWays) {
  std::vector<int> out(kThreads);
  EXPECT_EQ(error_of(half_warp_kernel, out.data()), "");
  for (int i = 0; i < static_cast<int>(kThreads); ++i)
    EXPECT_EQ(out[static_cast<size_t>(i)], i % 32 < 16 ? 3 : i % 32 ^ 1);
}

// The line numbers of the two barriers in divergent_kernel().
constexpr unsigned kFirstBarrier = __LINE__ + 4;
constexpr unsigned kSecondBarrier = __LINE__ + 5;
void divergent_kernel() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST_P(Emulator, FindsADivergentBarrier) {
  const std::string error = error_of(divergent_kernel);
  EXPECT_THAT(error,
              HasSubstr(fmt::format("emulator_test.cc:{}: thread (0, 0, 0)", kFirstBarrier)));
  EXPECT_THAT(error, HasSubstr(fmt::format("waits for thread (32, 0, 0), which waits at "
                                           "emulator_test.cc:{}",
                                           kSecondBarrier)));
}

void early_exit_kernel() {
  if (threadIdx.x == 40) return;
  __syncthreads();
}

TEST_P(Emulator, FindsAThreadThatEndsBeforeABarrier) {
  EXPECT_THAT(error_of(early_exit_kernel),
              HasSubstr("waits for thread (40, 0, 0), which has ended"));
}

void absent_lane_kernel() {
  if (threadIdx.x % 32 != 5) __shfl_xor_sync(kAllLanes, 1, 1);
}

void lane_at_a_barrier_kernel() {
  if (threadIdx.x % 32 != 5) __syncwarp();
  __syncthreads();
}

void foreign_mask_kernel() { __shfl_xor_sync(0x0000ffff, 1, 1); }

void foreign_source_kernel() {
  if (threadIdx.x % 32 < 16) __shfl_down_sync(0x0000ffff, 1, 1);
}

void beyond_the_warp_kernel() { __shfl_down_sync(kAllLanes, 1, 1); }

TEST_P(Emulator, FindsAShuffleThatNotAllLanesReach) {
  EXPECT_THAT(error_of(absent_lane_kernel), HasSubstr("waits for lane 5, which has ended"));
  EXPECT_THAT(error_of(lane_at_a_barrier_kernel),
              HasSubstr("waits for lane 5, which waits at emulator_test.cc:"));
  EXPECT_THAT(error_of(foreign_mask_kernel), HasSubstr("is not in its own mask 0x0000ffff"));
  EXPECT_THAT(error_of(foreign_source_kernel),
              HasSubstr("lane 15, reads lane 16, which takes no part"));
  EXPECT_THAT(error_of(beyond_the_warp_kernel),
              HasSubstr("lane 31, reads lane 32, which takes no part"));
}

struct Values;

void unwritten_kernel(float* out) {
  const float* values = shared_array<Values, float, 8>();
  out[0] = values[7];
  out[1] = reinterpret_cast<const float*>(dynamic_shared())[15];
}

TEST_P(Emulator, UnwrittenSharedMemoryIsNaN) {
  float out[2] = {};
  EXPECT_EQ(error_of<float*>(unwritten_kernel, out), "");
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[1]));
}

void overrun_kernel(int index) {
  float* values = shared_array<Values, float, 8>();
  if (threadIdx.x == 0) values[index] = 1;
}

TEST_P(Emulator, FindsAWriteBeyondASharedArray) {
  EXPECT_EQ(error_of(overrun_kernel, 7), "");
#ifdef __SANITIZE_ADDRESS__
  EXPECT_DEATH(error_of(overrun_kernel, 8), "AddressSanitizer: use-after-poison");
  EXPECT_DEATH(error_of(overrun_kernel, -1), "AddressSanitizer: use-after-poison");
#else
  EXPECT_THAT(error_of(overrun_kernel, 8),
              HasSubstr("a write beyond the end of the shared array of emulator_test.cc:"));
  EXPECT_THAT(error_of(overrun_kernel, -1), HasSubstr("a write before the shared array"));
#endif
}

void write_kernel(float* out, int index) {
  if (threadIdx.x == 0) out[index] = 1;
}

TEST_P(Emulator, FindsAWriteBeyondABuffer) {
  const testing::GuardedBuffer buffer(8, sizeof(float));
  EXPECT_EQ(error_of(write_kernel, buffer.as<float>(), 7), "");
  EXPECT_TRUE(buffer.intact());
#ifdef __SANITIZE_ADDRESS__
  EXPECT_DEATH(error_of(write_kernel, buffer.as<float>(), 8), "AddressSanitizer: use-after-poison");
#else
  error_of(write_kernel, buffer.as<float>(), 8);
  EXPECT_FALSE(buffer.intact());
#endif
}

// A barrier is missing between the write and the read. The warp that runs first therefore reads
// values that the other warps have not written yet, which are 0xff bytes.
void race_kernel(unsigned* out) {
  unsigned* values = shared_array<Values, unsigned, kThreads>();
  values[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = values[(threadIdx.x + 32) % kThreads];
}

TEST_P(Emulator, ShowsAMissingBarrier) {
  std::vector<unsigned> out(kThreads);
  EXPECT_EQ(error_of(race_kernel, out.data()), "");
  EXPECT_THAT(out, ::testing::Contains(0xffffffffU));
}

void empty_kernel() {}

TEST(EmulatorLaunch, RefusesWhatNoGpuTakes) {
  const auto refused = [](const LaunchShape& shape) {
    EXPECT_THROW(launch(empty_kernel, shape, nullptr), emulator::KernelError);
  };
  refused({1, 0});
  refused({1, 1025});
  refused({0, 32});
  refused({dim3(1, 65536), 32});
  const auto too_much = [](size_t bytes) {
    launch(
        +[] { dynamic_shared(); }, {1, 32, bytes}, nullptr);
  };
  EXPECT_NO_THROW(too_much(48 * 1024));
  EXPECT_THROW(too_much(48 * 1024 + 16), emulator::KernelError);
}

TEST(EmulatorLaunch, WorksAfterAnError) {
  EXPECT_NE(error_of(early_exit_kernel), "");
  std::vector<unsigned> out(size_t{2} * kThreads);
  EXPECT_EQ(error_of(sum_kernel, out.data()), "");
}

}  // namespace
}  // namespace encode::cuda
