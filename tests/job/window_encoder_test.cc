// Tests the stages of a window together, with an encoder that needs no model.
#include "job/window_encoder.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "encoder_stand_in.h"
#include "support/error_of.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Encodes windows. The key of a row in the cache is its first token id.
class Encoding {
 public:
  explicit Encoding(bool cached = false, VectorPrecision precision = VectorPrecision::kFloat32)
      : job(8) {
    if (cached) {
      job.spec.embedding_cache = {
          .dir = job.dir.file("cache"), .memory_bytes = 1 << 20, .disk_bytes = 50'000'000};
    }
    job.spec.units[0].effective.vector_precision = precision;
    model_.encoder = std::make_unique<StandInEncoder>();
    model_.wider_redo =
        std::make_unique<WiderRedo>(model_.directory, model_.effective, EncoderOptions{});
    session_.emplace(job.context);
    windows_.emplace(job.context, 0, model_, *session_);
  }

  StandInEncoder& encoder() { return static_cast<StandInEncoder&>(*model_.encoder); }

  std::optional<WindowVectors> encode(const TokenizedRows& rows) {
    Window window = window_with(rows, rows.size(), encoder().per_token);
    for (int64_t row = 0; row < rows.size(); ++row)
      window.keys.emplace_back().bytes[0] = static_cast<std::byte>(rows.row(row).front());
    return encode(std::move(window));
  }
  std::optional<WindowVectors> encode(Window window) {
    return windows_->encode(std::move(window), {.batch_done =
                                                    [this](const PackedBatch& batch) {
                                                      rows_done += batch.sequences();
                                                      return goes_on;
                                                    },
                                                .go_on = [this] { return goes_on; }});
  }

  StandInJob job;
  bool goes_on = true;
  int64_t rows_done = 0;  // the rows of the batches that are done

 private:
  LoadedModel model_;
  std::optional<CacheSession> session_;
  std::optional<WindowEncoder> windows_;
};

// Rows 0 and 2 are equal.
TokenizedRows three_rows() {
  TokenizedRows rows = rows_with({2, 3, 2});
  std::copy_n(rows.ids.begin(), 2, rows.ids.begin() + 5);
  return rows;
}

TEST(WindowEncoder, EncodesEqualRowsOnceAndCachedRowsNever) {
  Encoding windows(/*cached=*/true);
  const auto first = windows.encode(three_rows());
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(first->values, ElementsAre(1, 1, 2, 1, 1, 1));
  EXPECT_EQ(first->reused, (ReusedSequences{.sequences = 1, .tokens = 2}));
  EXPECT_EQ(windows.rows_done, 2);
  const auto second = windows.encode(three_rows());
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->values, first->values);
  EXPECT_EQ(second->reused, (ReusedSequences{.sequences = 3, .tokens = 7}));
  EXPECT_EQ(windows.rows_done, 2);
}

TEST(WindowEncoder, StopsIfItIsAskedTo) {
  Encoding windows;
  windows.goes_on = false;
  EXPECT_FALSE(windows.encode(three_rows()).has_value());
  EXPECT_THAT(windows.job.events(), IsEmpty());
}

TEST(WindowEncoder, SetsAWrongVectorAsideWithItsEqualRows) {
  Encoding windows(/*cached=*/true);
  windows.encoder().after = [](std::span<float> vector) {
    if (vector[0] == 1) vector[1] = kNan;
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto result = windows.encode(three_rows());
    ASSERT_TRUE(result.has_value());
    EXPECT_THAT(result->values, ElementsAre(0, 0, 2, 1, 0, 0));
    ASSERT_EQ(result->set_aside.size(), 2U);
    EXPECT_EQ(result->set_aside[0].row, 100);
    EXPECT_EQ(result->set_aside[0].code, "vector.not_finite");
    EXPECT_EQ(result->set_aside[1].row, 102);
    const auto sent = windows.job.events_of<RowsSetAside>();
    ASSERT_EQ(std::ssize(sent), attempt + 1);
    EXPECT_EQ(sent.back().rows, result->set_aside);
  }
  EXPECT_EQ(windows.rows_done, 3) << "only the good row comes from the cache";
}

TEST(WindowEncoder, NamesTheRowsInAscendingOrderAndSixtyFourInAnEvent) {
  Encoding windows;
  windows.encoder().after = [](std::span<float> vector) {
    if (vector[0] != 1) vector[0] = kNan;
  };
  std::vector<int> tokens;
  for (int row = 0; row < 71; ++row) tokens.push_back(1 + row % 3);
  ASSERT_TRUE(windows.encode(rows_with(tokens)).has_value());
  const auto sent = windows.job.events_of<RowsSetAside>();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].rows.size(), 64U);
  std::vector<int64_t> rows;
  for (const RowsSetAside& event : sent) {
    for (const SetAsideRow& row : event.rows) rows.push_back(row.row);
  }
  std::vector<int64_t> expected(70);
  std::iota(expected.begin(), expected.end(), int64_t{101});
  EXPECT_EQ(rows, expected);
}

TEST(WindowEncoder, RefusesAWindowWithoutAGoodVector) {
  Encoding windows;
  windows.encoder().after = [](std::span<float> vector) { vector[0] = kNan; };
  const ErrorDetail error = error_of([&] { windows.encode(rows_with({1, 2})); });
  EXPECT_EQ(error.code.name(), "vectors.all_bad");
  EXPECT_EQ(error.where, "tc, rows 100 to 101");
  EXPECT_EQ(error.found, "vector.not_finite: a value is NaN or infinite");
  EXPECT_THAT(windows.job.events(), IsEmpty());
  EXPECT_EQ(windows.encode(rows_with({1})).value().set_aside.size(), 1U) << "one row may be bad";
}

TEST(WindowEncoder, CountsACachedRowAsAGoodVector) {
  Encoding windows(/*cached=*/true);
  ASSERT_TRUE(windows.encode(rows_with({1})).has_value());
  windows.encoder().after = [](std::span<float> vector) { vector[0] = kNan; };
  const auto result = windows.encode(rows_with({1, 1, 1}));
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(result->values, ElementsAre(1, 1, 0, 0, 0, 0));
  EXPECT_EQ(result->set_aside.size(), 2U);
}

TEST(WindowEncoder, RoundsToHalfBeforeItChecksAndCopies) {
  Encoding windows(/*cached=*/false, VectorPrecision::kFloat16);
  windows.encoder().after = [](std::span<float> vector) {
    vector[1] = vector[0] == 2 ? 1e6F : 0.1F;
  };
  const auto result = windows.encode(three_rows());
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(result->values, ElementsAre(1, 0.0999755859375F, 0, 0, 1, 0.0999755859375F));
  ASSERT_EQ(result->set_aside.size(), 1U);
  EXPECT_EQ(result->set_aside[0].code, "vector.not_finite");
}

// One row may be bad for a reason of its own, also if it has several sequences.
TEST(WindowEncoder, SetsAsideARowWhoseSequencesAreAllBad) {
  Encoding windows;
  windows.encoder().after = [](std::span<float> vector) { vector[0] = vector[1] = 0; };
  Window window = window_with(rows_with({2, 3}), 2, /*per_token=*/false);
  WindowPart& part = window.parts.front();
  part.rows.end = part.rows.begin + 1;
  part.chunk.rows = part.rows;
  part.passages = {{.row = 100, .passage = 0, .tokens = 2},
                   {.row = 100, .passage = 1, .tokens = 3}};
  part.row_vectors = {2};
  Window of_two_rows = window;
  of_two_rows.parts.front().passages->back() = {.row = 101, .passage = 0, .tokens = 3};
  const auto result = windows.encode(std::move(window));
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->set_aside.size(), 1U);
  EXPECT_EQ(result->set_aside[0].row, 100);
  EXPECT_THROW(windows.encode(std::move(of_two_rows)), Error) << "the control";
}

TEST(WindowEncoder, LeavesOutSkippedTokens) {
  Encoding windows;
  windows.encoder().per_token = true;
  Window window = window_with(three_rows(), 3, /*per_token=*/true);
  window.skipped = {1, 6};
  const auto result = windows.encode(std::move(window));
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(result->values, ElementsAre(1, 1, 2, 1, 2, 1, 2, 1, 1, 1));
  EXPECT_THAT(result->parts[0].row_vectors, ElementsAre(1, 3, 1));
}

}  // namespace
}  // namespace encode::testing
