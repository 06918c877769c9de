#include "base/stop_signal.h"

#include <csignal>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StopListener, HearsTheSignalOnceBeforeItIsDestroyed) {
  std::vector<int> heard;
  {
    const StopSignal stop;
    const StopListener listener(stop, [&heard](int number) { heard.push_back(number); });
    ::raise(SIGTERM);
  }
  EXPECT_THAT(heard, ElementsAre(SIGTERM));
}

TEST(StopListener, HearsASignalThatCameBefore) {
  std::vector<int> heard;
  {
    const StopSignal stop;
    ::raise(SIGUSR1);
    const StopListener listener(stop, [&heard](int number) { heard.push_back(number); });
  }
  EXPECT_THAT(heard, ElementsAre(SIGUSR1));
}

TEST(StopListener, EndsWithoutASignal) {
  std::vector<int> heard;
  {
    const StopSignal stop;
    const StopListener listener(stop, [&heard](int number) { heard.push_back(number); });
  }
  EXPECT_THAT(heard, IsEmpty());
}

TEST(StopSignal, RecordsEachSignal) {
  for (const int number : kStopSignals) {
    const StopSignal stop;
    ::raise(number);
    EXPECT_EQ(stop.number(), number);
  }
  EXPECT_TRUE(asks_for_restart(SIGALRM));
  EXPECT_FALSE(asks_for_restart(SIGTERM));
}

// timeout(1) signals a process and then its process group, so the process gets two signals.
TEST(StopSignal, TakesTwoSignalsAtOnceForOneRequest) {
  const StopSignal stop;
  ::raise(SIGTERM);
  ::raise(SIGTERM);
  ::raise(SIGUSR1);
  EXPECT_EQ(stop.number(), SIGTERM);
}

[[noreturn]] void signal_again(int number) {
  const StopSignal stop;
  ::raise(SIGTERM);
  ::usleep(600'000);
  ::raise(number);
  ::_exit(0);
}

TEST(StopSignalDeathTest, ALaterSignalEndsTheProcess) {
  EXPECT_EXIT(signal_again(SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(signal_again(SIGUSR1), ::testing::ExitedWithCode(75), "");
}

// Stands for a thread that is too busy to look at the StopSignal.
[[noreturn]] void wait_for_end(int number) {
  const StopSignal stop;
  const StopListener listener(stop, end_now);
  ::raise(number);
  while (true) ::pause();
}

TEST(StopListenerDeathTest, EndsTheProcessAsTheSignalDoes) {
  EXPECT_EXIT(wait_for_end(SIGINT), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(wait_for_end(SIGUSR1), ::testing::ExitedWithCode(75), "");
}

}  // namespace
}  // namespace encode
