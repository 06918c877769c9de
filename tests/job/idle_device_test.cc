// Tests that the device stays busy while the host finishes a window, with a simulated H100 and the
// times of scripts/gpu/devices.json.
#include <memory>

#include <gtest/gtest.h>

#include "simulated_device.h"
#include "stream_run.h"

namespace encode::testing {
namespace {

constexpr int64_t kBatchTokens = 16'384;
constexpr int64_t kDim = 384;
constexpr int64_t kChunkRows = 1000;

// The host's times in the two scenarios of devices.json in which it is slowest. A batch of
// all-MiniLM-L6-v2 in bfloat16 has 50 launches of host_launch_seconds. `batch` is what
// scripts/gpu/roofline.py computes for 16,384 token slots.
DeviceTimes expected(double batch) {
  return {.batch = batch,
          .batch_slots = kBatchTokens,
          .launch = 50 * 4.5e-6,
          .window = 0.5e-3,
          .vector_bytes_per_second = 2.5e9,
          .release = 2.5e-3};
}
DeviceTimes slow(double batch) {
  return {.batch = batch,
          .batch_slots = kBatchTokens,
          .launch = 50 * 8.0e-6,
          .window = 1.5e-3,
          .vector_bytes_per_second = 1.2e9,
          .release = 6.5e-3};
}

// Rows of one length, in chunks of kChunkRows.
struct Case {
  int64_t row_tokens = 0;
  int64_t chunks = 0;
  DeviceTimes times;
};
const Case kShortRows = {.row_tokens = 30, .chunks = 40, .times = expected(1.655e-3)};
const Case kShortRowsSlow = {.row_tokens = 30, .chunks = 40, .times = slow(2.588e-3)};
const Case kLongRows = {.row_tokens = 300, .chunks = 8, .times = expected(1.474e-3)};
const Case kLongRowsSlow = {.row_tokens = 300, .chunks = 8, .times = slow(2.208e-3)};

// Returns the share of the time in which the device is idle.
double idle_share(const Case& minilm, bool keeps_busy) {
  const int64_t rows = minilm.chunks * kChunkRows;
  StreamRun stream({.rows = rows,
                    .row_tokens = minilm.row_tokens,
                    .chunk_rows = kChunkRows,
                    .batch_tokens = kBatchTokens,
                    .dim = kDim});
  std::unique_ptr<Encoder> encoder =
      std::make_unique<SimulatedEncoder>(rows, kDim, kBatchTokens, minilm.times);
  auto& device = static_cast<SimulatedEncoder&>(*encoder);
  device.keeps_busy = keeps_busy;
  EXPECT_EQ(stream.run(encoder), UnitRun::End::kDone);
  EXPECT_EQ(std::ssize(stream.committed()), minilm.chunks);
  EXPECT_EQ(device.releases, 1) << "at the end of the stream";
  return device.idle_share();
}

TEST(IdleDevice, LessThan3PercentOfTheTimeWithShortRows) {
  EXPECT_LT(idle_share(kShortRows, /*keeps_busy=*/true), 0.03);
  EXPECT_LT(idle_share(kShortRowsSlow, /*keeps_busy=*/true), 0.03);
}

TEST(IdleDevice, LessThan1PercentOfTheTimeWithLongRows) {
  EXPECT_LT(idle_share(kLongRows, /*keeps_busy=*/true), 0.01);
  EXPECT_LT(idle_share(kLongRowsSlow, /*keeps_busy=*/true), 0.01);
}

// The control: without the first batches of the next window, the device is idle at each window's
// end.
TEST(IdleDevice, MoreWithoutTheNextWindow) {
  EXPECT_GT(idle_share(kShortRows, /*keeps_busy=*/false), 0.15);
  EXPECT_GT(idle_share(kLongRows, /*keeps_busy=*/false), 0.03);
}

}  // namespace
}  // namespace encode::testing
