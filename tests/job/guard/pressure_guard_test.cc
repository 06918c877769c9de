// Tests when the guard sees pressure, and what it then does. The test sets the clock and the memory
// that the guard sees.
#include "job/pressure_guard.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct FakeCache : Shrinkable {
  int64_t shrink_to(int64_t bytes) override {
    limits.push_back(bytes);
    return bytes;
  }
  std::vector<int64_t> limits;
};

class Pressure : public ::testing::Test {
 protected:
  // Lets time pass, then asks the guard with this share of the memory in use.
  bool pressed_after(milliseconds time, int used_percent) {
    memory_.available_bytes = memory_.limit_bytes / 100 * (100 - used_percent);
    now_ += time;
    return guard_.pressed();
  }
  double share_after(milliseconds time, int used_percent) {
    pressed_after(time, used_percent);
    return guard_.window_share();
  }
  PressureGuard::Sources sources() {
    return {.read =
                [this] {
                  ++reads_;
                  return memory_;
                },
            .now = [this] { return now_; },
            .on_change =
                [this](bool pressed, const HostMemory& memory) {
                  changes_.push_back(std::to_string(static_cast<int>(memory.used_percent())) +
                                     (pressed ? " pressed" : " normal"));
                }};
  }

  HostMemory memory_ = {.limit_bytes = 1000, .available_bytes = 1000};
  PressureGuard::Time now_ = std::chrono::steady_clock::now();
  int reads_ = 0;
  std::vector<std::string> changes_;
  PressureGuard guard_ = PressureGuard(85, sources());
};

TEST_F(Pressure, BeginsAtTheMarkAndEndsTenPercentBelowIt) {
  EXPECT_FALSE(pressed_after(milliseconds(0), 84));
  EXPECT_TRUE(pressed_after(milliseconds(100), 85));
  EXPECT_TRUE(pressed_after(milliseconds(100), 76)) << "hysteresis";
  EXPECT_FALSE(pressed_after(milliseconds(100), 75));
  EXPECT_FALSE(pressed_after(milliseconds(100), 84)) << "hysteresis";
  EXPECT_THAT(changes_, ElementsAre("85 pressed", "75 normal"));
}

TEST_F(Pressure, IsLookedForEveryTenthOfASecond) {
  EXPECT_FALSE(pressed_after(milliseconds(0), 10));
  for (int i = 0; i < 99; ++i) EXPECT_FALSE(pressed_after(milliseconds(1), 99));
  EXPECT_EQ(reads_, 1);
  EXPECT_TRUE(pressed_after(milliseconds(1), 99));
  EXPECT_EQ(reads_, 2);
}

TEST_F(Pressure, MakesWindowsSmallerEachSecondAndLetsThemGrowBack) {
  EXPECT_EQ(share_after(milliseconds(100), 50), 1);
  EXPECT_EQ(share_after(milliseconds(100), 90), 1.0 / 4);
  EXPECT_EQ(share_after(milliseconds(900), 90), 1.0 / 4);
  EXPECT_EQ(share_after(milliseconds(100), 90), 1.0 / 8);
  EXPECT_EQ(share_after(milliseconds(1000), 90), 1.0 / 16);
  EXPECT_EQ(share_after(milliseconds(9000), 90), 1.0 / 16) << "a window keeps a size";
  EXPECT_EQ(share_after(milliseconds(100), 50), 1.0 / 16);
  EXPECT_EQ(share_after(milliseconds(1000), 50), 1.0 / 8);
  EXPECT_EQ(share_after(milliseconds(1000), 90), 1.0 / 8) << "short again before they are back";
  for (int i = 0; i < 4; ++i) share_after(milliseconds(1000), 50);
  EXPECT_EQ(guard_.window_share(), 1);
}

TEST_F(Pressure, BeginsEarlierIfTasksWaitForMemory) {
  memory_.stalled_percent = 9;
  EXPECT_FALSE(pressed_after(milliseconds(100), 84));
  memory_.stalled_percent = 10;
  EXPECT_FALSE(pressed_after(milliseconds(100), 75)) << "others may make the tasks wait";
  EXPECT_TRUE(pressed_after(milliseconds(100), 76));
  EXPECT_FALSE(pressed_after(milliseconds(100), 75));
}

TEST_F(Pressure, LeavesCachesAQuarterUntilItEnds) {
  FakeCache cache;
  FakeCache forgotten;
  guard_.watch(cache, 400);
  guard_.watch(forgotten, 800);
  guard_.forget(forgotten);
  pressed_after(milliseconds(100), 90);
  pressed_after(milliseconds(100), 90);
  pressed_after(milliseconds(100), 50);
  EXPECT_THAT(cache.limits, ElementsAre(400, 100, 400));
  EXPECT_THAT(forgotten.limits, ElementsAre(800));
}

TEST_F(Pressure, LimitsACacheAtOnceThatComesLater) {
  pressed_after(milliseconds(100), 90);
  FakeCache cache;
  guard_.watch(cache, 400);
  EXPECT_THAT(cache.limits, ElementsAre(100));
}

TEST_F(Pressure, IsNeverSeenWithTheGuardOff) {
  PressureGuard off(0, sources());
  memory_.available_bytes = 0;
  now_ += milliseconds(100);
  EXPECT_FALSE(off.pressed());
  EXPECT_EQ(off.window_share(), 1);
  EXPECT_EQ(reads_, 0);
  EXPECT_THAT(changes_, IsEmpty());
}

}  // namespace
}  // namespace encode
