// Tests the main loop of the worker with a GPU that begins the next window early: the events, the
// state after a failure, a stop and a retirement, and that no byte of the result changes.
#include "job/unit_run.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulated_device.h"
#include "stream_run.h"

namespace encode::testing {
namespace {

using ::testing::IsEmpty;

constexpr int64_t kRows = 1000;
constexpr int64_t kRowTokens = 8;
constexpr int64_t kBatchTokens = 64;
constexpr int64_t kDim = 3;
constexpr int64_t kChunks = 16;  // the last one is shorter

// A worker on a simulated GPU.
class Gpu {
 public:
  Gpu() { make_encoder(); }

  // Makes the next run() another worker. The simulated device does not know how many rows are left
  // for it, so it does not wait for the next window.
  void renew() {
    make_encoder();
    device().awaits_next = false;
  }
  SimulatedEncoder& device() { return static_cast<SimulatedEncoder&>(*encoder_); }
  UnitRun::End run() { return stream.run(encoder_); }
  std::vector<WindowStarted> windows() const { return stream.job.events_of<WindowStarted>(); }

  StreamRun stream{{.rows = kRows,
                    .row_tokens = kRowTokens,
                    .chunk_rows = 64,
                    .batch_tokens = kBatchTokens,
                    .dim = kDim}};

 private:
  void make_encoder() {
    encoder_ = std::make_unique<SimulatedEncoder>(kRows, kDim, kBatchTokens, DeviceTimes{});
  }

  std::unique_ptr<Encoder> encoder_;
};

// Returns the row, in the stream, of the first sequence of a batch; see StreamRun.
int64_t row_in_stream(const PackedBatch& batch) {
  return 1000 * int64_t{batch.input_ids[0]} + batch.input_ids[1];
}

bool has(RowRange rows, int64_t row) { return rows.begin <= row && row < rows.end; }

std::string expected_bytes() {
  Gpu gpu;
  gpu.device().keeps_busy = false;
  EXPECT_EQ(gpu.run(), UnitRun::End::kDone);
  for (const WindowStarted& window : gpu.windows()) EXPECT_EQ(window.ahead, RowRange{});
  return gpu.stream.bytes();
}

c10::SourceLocation this_place() { return {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}; }

TEST(NextWindow, IsNamedBeforeItsFirstBatchIsLaunched) {
  Gpu gpu;
  int64_t ahead = 0;
  gpu.device().on_launch = [&](const PackedBatch& batch) {
    const WindowStarted last = gpu.windows().back();
    const bool in_next = has(last.ahead, row_in_stream(batch));
    EXPECT_TRUE(has(last.rows, row_in_stream(batch)) || in_next);
    ahead += in_next ? 1 : 0;
  };
  EXPECT_EQ(gpu.run(), UnitRun::End::kDone);
  const std::vector<WindowStarted> windows = gpu.windows();
  const auto alone = [](const WindowStarted& window) { return window.ahead.size() == 0; };
  const int64_t all = std::count_if(windows.begin(), windows.end(), alone);
  EXPECT_GE(all, 3) << "too few windows to test anything";
  EXPECT_EQ(std::ssize(windows), 2 * all - 1) << "each window but the last has a next one";
  EXPECT_EQ(ahead, (all - 1) * batches_ahead(false));
  for (size_t i = 1; i < windows.size(); ++i) {
    const bool begins = alone(windows[i]);
    EXPECT_EQ(windows[i].rows, begins ? windows[i - 1].ahead : windows[i - 1].rows);
  }
}

TEST(NextWindow, ChangesNoByteAndIsLaunchedOnce) {
  const std::string expected = expected_bytes();
  Gpu gpu;
  std::set<int64_t> launched;
  gpu.device().on_launch = [&](const PackedBatch& batch) {
    EXPECT_TRUE(launched.insert(row_in_stream(batch)).second);
  };
  EXPECT_EQ(gpu.run(), UnitRun::End::kDone);
  EXPECT_TRUE(gpu.stream.bytes() == expected);
  const auto done = gpu.stream.job.events_of<UnitDone>();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].rows_done, kRows);
}

// The failure must not count for the rows of the window that is being encoded.
TEST(NextWindow, ThatDoesNotFitFailsInItsOwnTurn) {
  const std::string expected = expected_bytes();
  Gpu gpu;
  constexpr int64_t kFirstRow = 256;  // of the third window
  std::vector<WindowStarted> failed;
  gpu.device().on_launch = [&](const PackedBatch& batch) {
    if (row_in_stream(batch) < kFirstRow || failed.size() == 2) return;
    failed.push_back(gpu.windows().back());
    throw c10::OutOfMemoryError(this_place(), "CUDA out of memory");
  };
  EXPECT_EQ(gpu.run(), UnitRun::End::kDone);
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_EQ(failed[0].ahead.begin, kFirstRow);
  EXPECT_EQ(failed[1].rows.begin, kFirstRow);
  const auto told = gpu.stream.job.events_of<LogLine>();
  EXPECT_EQ(std::count_if(told.begin(), told.end(),
                          [](const LogLine& line) { return line.level == LogLevel::kWarning; }),
            1)
      << "the batch is tried again once";
  EXPECT_TRUE(gpu.stream.bytes() == expected);
  EXPECT_THAT(gpu.stream.job.events_of<RowsSetAside>(), IsEmpty());
}

TEST(NextWindow, AStopLosesOnlyWhatIsNotCommitted) {
  const std::string expected = expected_bytes();
  for (const int64_t batches : {1, 15, 16, 17, 18, 33}) {
    Gpu gpu;
    int64_t left = batches;
    gpu.device().on_finish = [&](const PackedBatch&) {
      if (--left == 0) gpu.stream.job.stop(true);
    };
    EXPECT_EQ(gpu.run(), UnitRun::End::kStopped);
    const auto committed = std::ssize(gpu.stream.committed());
    EXPECT_LT(committed, kChunks);
    EXPECT_EQ(std::ssize(gpu.stream.job.events_of<ChunkDone>()), committed);
    gpu.stream.job.stop(false);
    gpu.renew();
    EXPECT_EQ(gpu.run(), UnitRun::End::kDone);
    EXPECT_TRUE(gpu.stream.bytes() == expected) << batches;
    EXPECT_EQ(std::ssize(gpu.stream.job.events_of<ChunkDone>()), kChunks) << "each one once";
  }
}

// With several workers the chunks of the next window are claimed. The retirement frees them for the
// next worker.
TEST(NextWindow, ARetirementLeavesItToTheNextWorker) {
  const std::string expected = expected_bytes();
  for (const int64_t workers : {1, 2}) {
    Gpu gpu;
    gpu.stream.job.spec.workers = workers;
    gpu.stream.job.spec.hardware.worker_chunks = 1;
    int64_t retired = 0;
    while (gpu.run() == UnitRun::End::kRetired) {
      gpu.renew();
      ASSERT_LT(++retired, kChunks);
    }
    EXPECT_GE(retired, 2);
    EXPECT_TRUE(gpu.stream.bytes() == expected) << workers;
    EXPECT_EQ(std::ssize(gpu.stream.job.events_of<ChunkDone>()), kChunks) << "each one once";
    int64_t rows = 0;
    for (const UnitDone& done : gpu.stream.job.events_of<UnitDone>()) rows += done.rows_done;
    EXPECT_LE(rows, kRows) << "no row of a dropped window is counted";
  }
}

TEST(NextWindow, HasToWaitIfAnEarlierWorkerFailedWithItsRows) {
  for (const RowRange suspected : {RowRange{0, 1}, RowRange{300, 301}, RowRange{999, kRows}}) {
    Gpu gpu;
    gpu.device().awaits_next = false;
    gpu.stream.unit().alone = {suspected};
    EXPECT_EQ(gpu.run(), UnitRun::End::kDone);
    for (const WindowStarted& window : gpu.windows()) {
      if (window.ahead.size() == 0) continue;
      EXPECT_FALSE(has(window.rows, suspected.begin));
      EXPECT_FALSE(has(window.ahead, suspected.begin));
    }
  }
}

// The batches leave out the rows that the cache has, so they are not known before the cache
// answers.
TEST(NextWindow, HasToWaitForTheEmbeddingCache) {
  Gpu gpu;
  gpu.device().awaits_next = false;
  gpu.stream.job.spec.embedding_cache = {
      .dir = gpu.stream.job.dir.file("vectors"), .memory_bytes = 1 << 20, .disk_bytes = 50'000'000};
  EXPECT_EQ(gpu.run(), UnitRun::End::kDone);
  for (const WindowStarted& window : gpu.windows()) EXPECT_EQ(window.ahead, RowRange{});
}

}  // namespace
}  // namespace encode::testing
