// Tests what BatchLoop does with batches that need more memory than the device has, and with rows
// that the encoder refuses.
#include "job/batch_loop.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "encoder_stand_in.h"
#include "support/code_of.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

c10::SourceLocation this_place() { return {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}; }

void throw_out_of_memory() { throw c10::OutOfMemoryError(this_place(), "CUDA out of memory"); }

bool has_row(const PackedBatch& batch, int64_t row) {
  return std::find(batch.sequence_numbers.begin(), batch.sequence_numbers.end(), row) !=
         batch.sequence_numbers.end();
}

// A worker with batches of this number of tokens.
class Loop {
 public:
  explicit Loop(int64_t batch_tokens) : job(batch_tokens), loop(job.context, 0, encoder) {}

  std::optional<std::vector<FailedSequence>> run(const TokenizedRows& rows) {
    values.assign(static_cast<size_t>(2 * rows.size()), 0);
    return loop.run(
        pack({.ids = rows}, job.spec.units[0].speed.batch_tokens), values,
        [this](const PackedBatch& batch) {
          done.insert(done.end(), batch.sequence_numbers.begin(), batch.sequence_numbers.end());
          return goes_on;
        },
        [] { return std::span<const PackedBatch>(); });
  }

  StandInJob job;
  StandInEncoder encoder;
  BatchLoop loop;
  std::vector<float> values;  // of the last window
  std::vector<int64_t> done;  // the rows of the batches that are done
  bool goes_on = true;
};

TEST(BatchLoop, GivesTheEncoderAllBatchesOfAWindow) {
  Loop loop(8);
  const auto refused = loop.run(rows_with({5, 4, 3}));
  ASSERT_TRUE(refused.has_value());
  EXPECT_THAT(*refused, IsEmpty());
  EXPECT_THAT(loop.encoder.tried, ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_THAT(loop.done, ElementsAre(0, 2, 1));
  EXPECT_THAT(loop.values, ElementsAre(1, 1, 2, 1, 3, 1));
  EXPECT_THAT(loop.job.events(), IsEmpty());
}

TEST(BatchLoop, AWindowWithoutBatchesIsDone) {
  Loop loop(8);
  EXPECT_THAT(loop.run(rows_with({0, 0})).value(), IsEmpty());
  EXPECT_THAT(loop.encoder.tried, IsEmpty());
}

TEST(BatchLoop, StopsAfterABatch) {
  Loop loop(8);
  loop.goes_on = false;
  EXPECT_FALSE(loop.run(rows_with({8, 8})).has_value());
  EXPECT_THAT(loop.done, ElementsAre(0));
}

TEST(BatchLoop, HalvesTheBudgetUntilABatchFitsAndKeepsIt) {
  Loop loop(8);
  loop.encoder.before = [](const PackedBatch& batch) {
    if (batch.tokens() > 2) throw_out_of_memory();
  };
  EXPECT_THAT(loop.run(rows_with({2, 2, 2, 2})).value(), IsEmpty());
  EXPECT_THAT(loop.encoder.tried,
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(0, 1), ElementsAre(0),
                          ElementsAre(1), ElementsAre(2), ElementsAre(3)));
  EXPECT_THAT(loop.values, ElementsAre(1, 1, 2, 1, 3, 1, 4, 1));
  const auto halved = loop.job.events_of<BatchHalved>();
  ASSERT_EQ(halved.size(), 2U);
  EXPECT_EQ(halved[0].budget_tokens, 4);
  EXPECT_EQ(halved[1].budget_tokens, 2);
  EXPECT_EQ(loop.loop.plan().budget_tokens, 2);
  // The batches of the next window are packed again before one of them fails.
  loop.encoder.tried.clear();
  EXPECT_THAT(loop.run(rows_with({2, 2})).value(), IsEmpty());
  EXPECT_THAT(loop.encoder.tried, ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_EQ(loop.job.events().size(), 2U);
}

TEST(BatchLoop, EncodesNoRowTwice) {
  Loop loop(8);
  bool failed = false;
  loop.encoder.before = [&failed](const PackedBatch& batch) {
    if (has_row(batch, 1) && !std::exchange(failed, true)) throw_out_of_memory();
  };
  EXPECT_THAT(loop.run(rows_with({8, 8, 8})).value(), IsEmpty());
  EXPECT_THAT(loop.encoder.tried,
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(loop.done, ElementsAre(0, 1, 2));
}

// After that the next window is packed again, so its batches are not known yet.
TEST(BatchLoop, TellsTheNextWindowUntilTheBudgetIsHalved) {
  Loop loop(8);
  ASSERT_TRUE(loop.run(rows_with({4, 4})).has_value());
  EXPECT_EQ(loop.encoder.knew_next, 1);
  loop.encoder.before = [](const PackedBatch& batch) {
    if (batch.tokens() > 4) throw_out_of_memory();
  };
  ASSERT_TRUE(loop.run(rows_with({4, 4})).has_value());
  EXPECT_EQ(loop.encoder.knew_next, 2) << "the call that fails";
  ASSERT_TRUE(loop.run(rows_with({4, 4})).has_value());
  EXPECT_EQ(loop.encoder.knew_next, 2);
}

TEST(BatchLoop, TriesABatchOnceMoreAndThenEachRowAlone) {
  Loop loop(1);  // no budget is smaller
  loop.encoder.before = [](const PackedBatch& batch) {
    if (has_row(batch, 1)) throw_out_of_memory();
  };
  const auto refused = loop.run(rows_with({2, 2}));
  EXPECT_THAT(loop.encoder.tried,
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(1), ElementsAre(1)));
  EXPECT_THAT(refused.value(),
              ElementsAre(FailedSequence{.place = {.number = 1, .tokens = 2, .first_vector = 1},
                                         .code = "device.memory",
                                         .message = "out of device memory (2 tokens)"}));
  EXPECT_THAT(loop.values, ElementsAre(1, 1, 0, 0));
  const auto log = loop.job.events_of<LogLine>();
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0].level, LogLevel::kWarning);
  EXPECT_EQ(log[0].message, "tc: the device is out of memory; the batch is tried again");
}

// The encoder does not say which row it refuses, so the rows of the batch are tried one by one.
TEST(BatchLoop, RefusesOnlyTheRowThatTheEncoderRefuses) {
  Loop loop(8);
  loop.encoder.before = [](const PackedBatch& batch) {
    if (!has_row(batch, 2)) return;
    throw Error({.code = "batch.length",
                 .what = "a row is too long",
                 .where = "",
                 .expected = "",
                 .found = "",
                 .hint = ""});
  };
  const auto refused = loop.run(rows_with({2, 2, 2, 2}));
  EXPECT_THAT(loop.encoder.tried, ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(0),
                                              ElementsAre(1), ElementsAre(2), ElementsAre(3)));
  EXPECT_THAT(refused.value(),
              ElementsAre(FailedSequence{.place = {.number = 2, .tokens = 2, .first_vector = 2},
                                         .code = "batch.length",
                                         .message = "a row is too long (2 tokens)"}));
  EXPECT_THAT(loop.values, ElementsAre(1, 1, 2, 1, 0, 0, 4, 1));
  EXPECT_THAT(loop.job.events(), IsEmpty());
}

TEST(BatchLoop, EndsTheRunAfterEightRowsInARowThatDoNotFit) {
  Loop none(1);
  none.encoder.before = [](const PackedBatch& /*batch*/) { throw_out_of_memory(); };
  EXPECT_EQ(code_of([&] { none.run(rows_with({1, 1, 1, 1, 1, 1, 1, 1})); }), "device.memory");
  Loop half(1);
  half.encoder.before = [](const PackedBatch& batch) {
    if (batch.sequence_numbers.front() % 2 == 0) throw_out_of_memory();
  };
  const auto refused = half.run(rows_with({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_THAT(numbers_of(refused.value()), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 16));
}

TEST(BatchLoop, GoesOnAfterOneFailureOfNvml) {
  Loop loop(8);
  int failures = 1;
  loop.encoder.before = [&failures](const PackedBatch& /*batch*/) {
    if (failures-- > 0) throw c10::Error(this_place(), "NVML_SUCCESS == r INTERNAL ASSERT FAILED");
  };
  EXPECT_THAT(loop.run(rows_with({4, 4})).value(), IsEmpty());
  EXPECT_EQ(loop.loop.plan().budget_tokens, 4);
  failures = 1;
  EXPECT_THROW(loop.run(rows_with({4, 4})), c10::Error);
}

TEST(BatchLoop, ThrowsWhatIsNoFaultOfARow) {
  Loop loop(8);
  loop.encoder.before = [](const PackedBatch& /*batch*/) {
    throw c10::AcceleratorError(this_place(), 700, "CUDA error: the device was lost");
  };
  EXPECT_THROW(loop.run(rows_with({4})), c10::AcceleratorError);
  loop.encoder.before = [](const PackedBatch& /*batch*/) { throw std::bad_alloc(); };
  EXPECT_THROW(loop.run(rows_with({4})), std::bad_alloc);
}

}  // namespace
}  // namespace encode::testing
