// Tests how much a kill can cost: the windows that were encoded and are not durable yet.
#include "job/commit_thread.h"

#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/file.h"

namespace encode {
namespace {

// A sink whose disk is slow: a commit waits until the test allows it.
class SlowSink : public RowSink {
 public:
  void begin(const ChunkTask& /*chunk*/) override {}
  void append(const WindowPart& /*part*/, std::span<const float> /*values*/) override {}
  ChunkDone commit(const RowStats& /*stats*/, const ChunkOrigin& /*origin*/) override {
    while (!allowed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++committed;
    if (fails)
      throw Error({.code = "io.write",
                   .exit_code = ExitCode::kIoError,
                   .what = "the disk is full",
                   .where = "",
                   .expected = "",
                   .found = "",
                   .hint = ""});
    return {};
  }

  std::atomic<bool> allowed = false;
  std::atomic<bool> fails = false;
  std::atomic<int> committed = 0;
};

// A window of one row, which is a whole chunk.
EncodedWindow window_of_row(int64_t row) {
  WindowPart part;
  part.chunk = {.index = row, .rows = {.begin = row, .end = row + 1}};
  part.rows = part.chunk.rows;
  EncodedWindow window;
  window.parts = {part};
  window.dim = 1;
  window.values = {1.0F};
  return window;
}

class CommitThreadTest : public ::testing::Test {
 protected:
  UniqueFd null_ = UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  EventPipe events_{null_.get()};
  SlowSink sink_;
};

TEST_F(CommitThreadTest, TakesTheNextWindowWhenThePreviousOneIsDurable) {
  CommitThread committer(sink_, events_, 0, {.device = "cpu"});
  committer.push(window_of_row(0));  // does not wait for the disk
  auto second = std::async(std::launch::async, [&] {
    committer.push(window_of_row(1));
    return sink_.committed.load();
  });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  sink_.allowed = true;
  EXPECT_GE(second.get(), 1);
  committer.finish();
  EXPECT_EQ(sink_.committed, 2);
}

TEST_F(CommitThreadTest, CountsItsSecondsWhileItRuns) {
  CommitThread committer(sink_, events_, 0, {.device = "cpu"});
  EXPECT_EQ(committer.seconds(), 0);
  sink_.allowed = true;
  committer.push(window_of_row(0));
  committer.push(window_of_row(1));  // waits for the first window
  const double first = committer.seconds();
  EXPECT_GT(first, 0);
  committer.finish();
  EXPECT_GT(committer.seconds(), first);
}

TEST_F(CommitThreadTest, AFailedWriteEndsTheNextPush) {
  CommitThread committer(sink_, events_, 0, {.device = "cpu"});
  sink_.fails = true;
  committer.push(window_of_row(0));
  sink_.allowed = true;
  EXPECT_THROW(committer.push(window_of_row(1)), Error);
}

}  // namespace
}  // namespace encode
