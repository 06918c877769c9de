#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <set>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <vector>

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
void limit_memory() {
  const rlimit limit = {.rlim_cur = rlim_t{256} << 20, .rlim_max = rlim_t{256} << 20};
  ::setrlimit(RLIMIT_AS, &limit);
}

void run_with_little_memory() {
  limit_memory();
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

void share_calls_with_little_memory() {
  limit_memory();
  std::atomic<int> calls = 0;
  share_calls(5000, 1000, [&](int64_t) { ++calls; });
  std::_Exit(calls == 5000 ? 0 : 1);
}

TEST(ShareCalls, ARefusedThreadCostsOnlyTime) {
  EXPECT_EXIT(share_calls_with_little_memory(), ::testing::ExitedWithCode(0), "");
}

TEST(ShareCalls, CallsEveryIterationOnceOnNoMoreThreadsThanIterations) {
  for (const int64_t count : {0, 1, 2, 100}) {
    std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
    std::mutex mutex;
    std::set<std::thread::id> threads;
    share_calls(count, 3, [&](int64_t i) {
      ++calls[static_cast<size_t>(i)];
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    for (const auto& n : calls) EXPECT_EQ(n, 1);
    EXPECT_LE(std::ssize(threads), std::min<int64_t>(count, 3));
  }
}

}  // namespace
}  // namespace encode
