// Tests that a step that does not end is reported, and that a slow step with progress is not.
#include "cache/store_watch.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace encode::testing {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kShort(150);

class Watched : public ::testing::Test {
 protected:
  const CacheFolder folder_{.path = "/vectors"};
  std::atomic<int> stalls_ = 0;
  std::string message_;  // may be read when stalls_ is not 0
  StoreWatch watch_{folder_,
                    [this](const Error& error) {
                      EXPECT_EQ(error.exit_code(), ExitCode::kTempFail);
                      message_ = error.what();
                      ++stalls_;
                    },
                    kShort};
};

TEST_F(Watched, AStepThatDoesNotEndIsReported) {
  const StoreWatch::Step step(watch_, "waits for its turn");
  for (int n = 0; n < 10'000 && stalls_ == 0; ++n) std::this_thread::sleep_for(milliseconds(1));
  ASSERT_GT(stalls_, 0);
  for (const char* part : {"cache.stalled", "/vectors", "waits for its turn", "fuser"})
    EXPECT_NE(message_.find(part), std::string::npos) << message_;
}

TEST_F(Watched, AStepWithProgressIsNotReported) {
  std::atomic<int64_t> progress = 0;
  const StoreWatch::Step step(watch_, "reads it", [&] { return progress.load(); });
  const auto end = std::chrono::steady_clock::now() + 5 * kShort;
  while (std::chrono::steady_clock::now() < end) {
    ++progress;
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(stalls_, 0);
}

TEST_F(Watched, ManyShortStepsAreNotReported) {
  const auto end = std::chrono::steady_clock::now() + 5 * kShort;
  while (std::chrono::steady_clock::now() < end) {
    const StoreWatch::Step step(watch_, "reads it");
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(stalls_, 0);
}

}  // namespace
}  // namespace encode::testing
