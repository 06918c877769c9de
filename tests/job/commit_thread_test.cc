// Tests how much a kill or an error can lose: the windows that were encoded and are not durable
// yet.
#include "job/commit_thread.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "encode/error.h"
#include "encode/text.h"

#include "base/file.h"
#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

constexpr int64_t kAllChunks = std::numeric_limits<int64_t>::max();

// A sink whose disk is slow: a commit waits until the test allows it.
class SlowSink : public RowSink {
 public:
  void begin(const ChunkTask& chunk) override {
    if (chunk.index == bad_chunk) throw full_disk();
  }
  void append(const WindowPart& /*part*/, std::span<const float> /*values*/) override {}
  void end(const RowStats& /*stats*/, const ChunkOrigin& /*origin*/) override { ++ended_; }
  std::vector<CommittedFile> commit() override {
    while (committed >= allowed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const int64_t chunks = std::exchange(ended_, 0);
    if (fails) throw full_disk();
    committed += chunks;
    groups.push_back(chunks);
    return std::vector<CommittedFile>(static_cast<size_t>(chunks));
  }

  std::atomic<int64_t> allowed = 0;  // a commit waits while so many chunks are committed
  std::atomic<bool> fails = false;
  std::atomic<int64_t> committed = 0;
  std::optional<int64_t> bad_chunk;  // begin() throws for this chunk
  std::vector<int64_t> groups;       // the numbers of chunks that were committed together

 private:
  static Error full_disk() {
    return Error({.code = "io.write",
                  .exit_code = ExitCode::kIoError,
                  .what = "the disk is full",
                  .where = "",
                  .expected = "",
                  .found = "",
                  .hint = ""});
  }

  int64_t ended_ = 0;
};

// A window of some rows. Each row is a whole chunk.
EncodedWindow window_of_rows(RowRange rows) {
  EncodedWindow window;
  window.dim = 1;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    WindowPart part;
    part.chunk = {.index = row, .rows = {.begin = row, .end = row + 1}};
    part.rows = part.chunk.rows;
    window.parts.push_back(part);
    window.values.push_back(1.0F);
  }
  return window;
}
EncodedWindow window_of_row(int64_t row) { return window_of_rows({row, row + 1}); }

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
  sink_.allowed = kAllChunks;
  EXPECT_GE(second.get(), 1);
  committer.finish();
  EXPECT_EQ(sink_.committed, 2);
}

TEST_F(CommitThreadTest, CountsItsSecondsWhileItRuns) {
  CommitThread committer(sink_, events_, 0, {.device = "cpu"});
  EXPECT_EQ(committer.seconds(), 0);
  sink_.allowed = 1;
  committer.push(window_of_row(0));
  committer.push(window_of_row(1));  // waits for the first window
  const double first = committer.seconds();
  EXPECT_GT(first, 0);
  sink_.allowed = kAllChunks;
  committer.finish();
  EXPECT_GT(committer.seconds(), first);
}

TEST_F(CommitThreadTest, GivesBackTheMemoryOfADurableWindow) {
  sink_.allowed = kAllChunks;
  CommitThread committer(sink_, events_, 0, {.device = "cpu"});
  EncodedWindow first = window_of_row(0);
  const float* const values = first.values.data();
  // The first window may be durable before the first call returns, and is so when the second does.
  const std::vector<float> early = committer.push(std::move(first));
  const std::vector<float> late = committer.push(window_of_row(1));
  EXPECT_TRUE(early.data() == values || late.data() == values);
}

TEST_F(CommitThreadTest, AFailedWriteEndsTheNextPush) {
  CommitThread committer(sink_, events_, 0, {.device = "cpu"});
  sink_.fails = true;
  committer.push(window_of_row(0));
  sink_.allowed = kAllChunks;
  EXPECT_THROW(committer.push(window_of_row(1)), Error);
}

TEST_F(CommitThreadTest, CommitsTheChunksOfAWindowTogether) {
  sink_.allowed = kAllChunks;
  CommitThread committer(sink_, events_, 0, {.device = "cpu"});
  committer.push(window_of_rows({0, 4}));
  committer.push(window_of_row(4));
  committer.push(window_of_rows({5, 5 + 2 * kChunksTogether + 1}));
  committer.finish();
  EXPECT_EQ(sink_.groups, (std::vector<int64_t>{4, 1, kChunksTogether, kChunksTogether, 1}));
}

TEST_F(CommitThreadTest, AnErrorCostsNoChunkThatHasEndedBefore) {
  sink_.allowed = kAllChunks;
  sink_.bad_chunk = 2;
  CommitThread committer(sink_, events_, 0, {.device = "cpu"});
  committer.push(window_of_rows({0, 4}));
  EXPECT_THROW(committer.finish(), Error);
  EXPECT_EQ(sink_.committed, 2);
}

// In standard mode the worker publishes the matrix, so it must look at the input before.
TEST(FinalSink, PublishesNoMatrixOfAnInputThatHasChanged) {
  for (const bool grows : {false, true}) {
    const testing::TempDir dir;
    JobUnit unit;
    unit.input.path = dir.write("in.txt", "a\nb\n");
    unit.scan = scan_texts(unit.input, {});
    unit.identity = {.name = "x", .fingerprint = "{}", .rows = 2, .dim = 1};
    unit.final_path = dir.file("x.npy");
    const std::unique_ptr<RowSink> sink = final_sink(unit);
    WindowPart part;
    part.chunk = {.index = 0, .rows = {.begin = 0, .end = 2}};
    part.rows = part.chunk.rows;
    const std::vector<float> values = {1.0F, 2.0F};
    sink->begin(part.chunk);
    sink->append(part, values);
    sink->end({}, {.device = "cpu"});
    if (grows) dir.write("in.txt", "a\nb\nc\n");
    EXPECT_EQ(testing::code_of([&] { sink->commit(); }), grows ? "text.changed" : "no error");
    EXPECT_EQ(std::filesystem::exists(unit.final_path), !grows);
  }
}

TEST(LockedSink, CommitsNothingAfterAnotherRunHasTakenTheDirectory) {
  const testing::TempDir dir;
  const CacheLock lock = CacheLock::acquire(dir.path());
  JobSpec job;
  job.cache_dir = dir.path();
  job.lock_token = lock.token();
  auto slow = std::make_unique<SlowSink>();
  SlowSink& inner = *slow;
  inner.allowed = kAllChunks;
  const std::unique_ptr<RowSink> sink = locked_sink(std::move(slow), job);
  sink->end({}, {});
  EXPECT_EQ(sink->commit().size(), 1);
  dir.write("LOCK", R"({"pid":1,"token":"0123456789abcdef","host":"node7","started":""})");
  sink->end({}, {});
  EXPECT_EQ(testing::code_of([&] { sink->commit(); }), "store.taken");
  EXPECT_EQ(inner.committed, 1);
}

}  // namespace
}  // namespace encode
