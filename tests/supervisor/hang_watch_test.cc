// Tests that HangWatch::patience() depends on the batch times of the worker, and is at least the
// floor.
#include "supervisor/worker/hang_watch.h"

#include <gtest/gtest.h>

namespace encode {
namespace {

using std::chrono::seconds;

class HangWatchTest : public ::testing::Test {
 protected:
  Clock::time_point at(int64_t second) const { return start_ + seconds(second); }

  Clock::time_point start_;
  HangWatch watch_{seconds(60), seconds(600)};
};

TEST_F(HangWatchTest, BeginsAtTheFirstSignOfLife) { EXPECT_FALSE(watch_.hung(at(100000))); }

TEST_F(HangWatchTest, EachPartOfAModelMayTakeLonger) {
  for (const int64_t second : {0, 599, 1198}) {
    EXPECT_FALSE(watch_.hung(at(second)));
    watch_.loading(at(second));
  }
  EXPECT_FALSE(watch_.hung(at(1198 + 599)));
  EXPECT_TRUE(watch_.hung(at(1198 + 600)));
}

// A second model may be loaded between two batches, for example to repeat rows in float32.
TEST_F(HangWatchTest, ABatchEndsThePatienceOfLoading) {
  watch_.batch(at(0));
  watch_.loading(at(10));
  EXPECT_FALSE(watch_.hung(at(600)));
  watch_.batch(at(600));
  EXPECT_FALSE(watch_.is_loading());
  EXPECT_TRUE(watch_.hung(at(600) + watch_.patience()));
}

TEST_F(HangWatchTest, TimeInWhichTheSupervisorWasPausedDoesNotCount) {
  watch_.forgive(at(0));
  EXPECT_FALSE(watch_.hung(at(100000))) << "forgiving does not start the watch";
  watch_.alive(at(100000));
  watch_.forgive(at(100059));
  EXPECT_FALSE(watch_.hung(at(100118)));
  EXPECT_TRUE(watch_.hung(at(100119)));
}

TEST_F(HangWatchTest, SilenceBeyondTheFloorIsAHang) {
  watch_.alive(at(0));
  EXPECT_FALSE(watch_.hung(at(59)));
  EXPECT_TRUE(watch_.hung(at(60)));
}

TEST_F(HangWatchTest, SlowBatchesStretchThePatience) {
  watch_.alive(at(0));
  for (int i = 1; i <= 5; ++i) watch_.batch(at(30 * i));
  EXPECT_EQ(watch_.patience(), seconds(600));
  EXPECT_FALSE(watch_.hung(at(150 + 599)));
  EXPECT_TRUE(watch_.hung(at(150 + 600)));
}

TEST_F(HangWatchTest, OneSlowBatchAmongFastOnesDoesNotStretchThePatience) {
  watch_.alive(at(0));
  watch_.batch(at(50));
  for (int i = 1; i <= 10; ++i) watch_.batch(at(50 + i));
  EXPECT_EQ(watch_.patience(), seconds(60));
}

TEST_F(HangWatchTest, ACommittedChunkIsASignOfLife) {
  watch_.alive(at(0));
  watch_.alive(at(59));
  EXPECT_FALSE(watch_.hung(at(118)));
}

TEST_F(HangWatchTest, PausesBetweenTwoStreams) {
  watch_.alive(at(0));
  watch_.pause();
  EXPECT_FALSE(watch_.hung(at(100000)));
  watch_.alive(at(100000));
  EXPECT_TRUE(watch_.hung(at(100060)));
}

}  // namespace
}  // namespace encode
