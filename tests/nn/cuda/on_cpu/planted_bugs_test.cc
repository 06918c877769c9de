// Shows that the random calls of random_calls.h find bugs. planted_bugs.cmake puts each bug into a
// copy of the plugin's sources.
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator.h"
#include "random_calls.h"
#include "schedules.h"

// The launchers with bugs. Each namespace is named after its bug.
namespace encode::no_barrier_before_partials {
int layer_norm(const EncodeCudaNorm* args);
}
namespace encode::no_barrier_after_partials {
int rms_norm(const EncodeCudaNorm* args);
}
namespace encode::no_barrier_in_pool {
int pool(const EncodeCudaPool* args);
}
namespace encode::shuffle_stops_early {
int rms_norm(const EncodeCudaNorm* args);
}
namespace encode::shuffle_beyond_the_warp {
int rms_norm(const EncodeCudaNorm* args);
}
namespace encode::shuffle_mask_of_half_a_warp {
int quantize_rows(const EncodeCudaQuantize* args);
}
namespace encode::one_vector_too_many {
int layer_norm(const EncodeCudaNorm* args);
}
namespace encode::one_token_too_many {
int pool(const EncodeCudaPool* args);
}
namespace encode::one_item_too_many {
int rotary(const EncodeCudaRotary* args);
}
namespace encode::shared_memory_too_small {
int quantize_rows(const EncodeCudaQuantize* args);
}
namespace encode::early_exit {
int rms_norm(const EncodeCudaNorm* args);
}

namespace encode {
namespace {

using ::testing::HasSubstr;
using Launcher = testing::KernelUnderTest::Launcher;

// Many calls are needed, because only one shape in a dozen shows the bug "early exit".
constexpr int kCalls = 60;
#ifdef __SANITIZE_ADDRESS__
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

template <typename Function>
EncodeCudaKernels only(Function* EncodeCudaKernels::*member, Function* launcher) {
  EncodeCudaKernels table = {};
  table.*member = launcher;
  return table;
}

// Returns the first difference or KernelError in kCalls random calls, or "".
std::string finding(const EncodeCudaKernels& table, Launcher launcher,
                    const emulator::Schedule& schedule) {
  emulator::set_schedule(schedule);
  std::mt19937_64 random(1);
  try {
    for (int call = 0; call < kCalls; ++call) {
      std::string difference =
          testing::difference_of_a_random_call(table, {launcher, kEncodeCudaBFloat16}, random);
      if (!difference.empty()) return difference;
    }
  } catch (const emulator::KernelError& error) {
    return error.what();
  }
  return "";
}

// Expects that the random calls find the bug in at least one schedule. Each finding must contain
// `text`.
void expect_finding(const EncodeCudaKernels& table, Launcher launcher, const char* text) {
  bool found = false;
  for (const emulator::Schedule& schedule : testing::kSchedules) {
    const std::string said = finding(table, launcher, schedule);
    std::cout << name_of(schedule.order) << ": " << said << "\n";
    if (said.empty()) continue;
    found = true;
    EXPECT_THAT(said, HasSubstr(text));
  }
  EXPECT_TRUE(found);
}

// Does what expect_finding() does, for a bug that accesses memory outside of a buffer. With
// AddressSanitizer it expects that this access ends the program.
void expect_out_of_bounds(const EncodeCudaKernels& table, Launcher launcher, const char* text) {
  if (!kAddressSanitizer) return expect_finding(table, launcher, text);
  for (const emulator::Schedule& schedule : testing::kSchedules)
    EXPECT_DEATH(finding(table, launcher, schedule),
                 "AddressSanitizer: (use-after-poison|heap-buffer-overflow)");
}

TEST(PlantedBug, NoBarrierBeforePartialsAreWritten) {
  expect_finding(only(&EncodeCudaKernels::layer_norm, no_barrier_before_partials::layer_norm),
                 Launcher::kLayerNorm, "instead of");
}

TEST(PlantedBug, NoBarrierAfterPartialsAreWritten) {
  expect_finding(only(&EncodeCudaKernels::rms_norm, no_barrier_after_partials::rms_norm),
                 Launcher::kRmsNorm, "nan instead of");
}

TEST(PlantedBug, NoBarrierInPool) {
  expect_finding(only(&EncodeCudaKernels::pool, no_barrier_in_pool::pool), Launcher::kPool,
                 "nan instead of");
}

TEST(PlantedBug, ShuffleStopsEarly) {
  expect_finding(only(&EncodeCudaKernels::rms_norm, shuffle_stops_early::rms_norm),
                 Launcher::kRmsNorm, "instead of");
}

TEST(PlantedBug, ShuffleBeyondTheWarp) {
  expect_finding(only(&EncodeCudaKernels::rms_norm, shuffle_beyond_the_warp::rms_norm),
                 Launcher::kRmsNorm, "lane 0, reads lane 32, which takes no part");
}

TEST(PlantedBug, ShuffleMaskOfHalfAWarp) {
  expect_finding(
      only(&EncodeCudaKernels::quantize_rows, shuffle_mask_of_half_a_warp::quantize_rows),
      Launcher::kQuantizeRows, "is not in its own mask 0x0000ffff");
}

TEST(PlantedBug, OneVectorTooMany) {
  expect_out_of_bounds(only(&EncodeCudaKernels::layer_norm, one_vector_too_many::layer_norm),
                       Launcher::kLayerNorm, "layer_norm");
}

TEST(PlantedBug, OneTokenTooMany) {
  expect_out_of_bounds(only(&EncodeCudaKernels::pool, one_token_too_many::pool), Launcher::kPool,
                       "instead of");
}

TEST(PlantedBug, OneItemTooMany) {
  expect_out_of_bounds(only(&EncodeCudaKernels::rotary, one_item_too_many::rotary),
                       Launcher::kRotary, "rotary");
}

TEST(PlantedBug, SharedMemoryTooSmall) {
  expect_out_of_bounds(
      only(&EncodeCudaKernels::quantize_rows, shared_memory_too_small::quantize_rows),
      Launcher::kQuantizeRows, "a write beyond the end of the shared array");
}

TEST(PlantedBug, EarlyExitBeforeABarrier) {
  expect_finding(only(&EncodeCudaKernels::rms_norm, early_exit::rms_norm), Launcher::kRmsNorm,
                 "which has ended");
}

}  // namespace
}  // namespace encode
