#include "base/thread_pool.h"

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "encode/error.h"

namespace encode {
namespace {

TEST(ThreadPool, CallsEveryIterationOnce) {
  for (const int64_t threads : {1, 2, 5}) {
    ThreadPool pool(threads, [] {});
    for (const int64_t count : {0, 1, 2, 100, 3}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      pool.run(count, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
      for (const auto& n : calls)
        EXPECT_EQ(n, 1) << threads << " threads, " << count << " iterations";
    }
  }
}

TEST(ThreadPool, RunsTheStartOnEveryThread) {
  std::atomic<int> starts = 0;
  {
    ThreadPool pool(4, [&] { ++starts; });
  }
  EXPECT_EQ(starts, 4);
}

TEST(ThreadPool, ThrowsTheFirstFailureAndWorksOn) {
  ThreadPool pool(3, [] {});
  std::atomic<int> calls = 0;
  const auto body = [&](int64_t i) {
    ++calls;
    if (i == 4) throw std::runtime_error("iteration 4");
  };
  EXPECT_THROW(pool.run(100000, body), std::runtime_error);
  EXPECT_LT(calls, 100000) << "later iterations are not handed out";
  calls = 0;
  pool.run(4, body);
  EXPECT_EQ(calls, 4);
}

// Leaves room for the stacks of a few threads only.
void run_with_little_memory() {
  const rlimit limit = {.rlim_cur = rlim_t{256} << 20, .rlim_max = rlim_t{256} << 20};
  ::setrlimit(RLIMIT_AS, &limit);
  try {
    ThreadPool(1000, [] {});
  } catch (const Error& error) {
    std::_Exit(error.detail().code == "os.thread" ? static_cast<int>(error.exit_code()) : 1);
  }
  std::_Exit(0);
}

TEST(ThreadPool, RefusedThreadIsAnError) {
  EXPECT_EXIT(run_with_little_memory(), ::testing::ExitedWithCode(71), "");
}

}  // namespace
}  // namespace encode
