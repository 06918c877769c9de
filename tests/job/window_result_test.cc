// Tests that the result of a window leaves out rows that failed and tokens without a vector.
#include "job/window_result.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoder_stand_in.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SetAsideRow refused(int64_t row) { return {.row = row, .code = "batch.length", .message = "m"}; }

FailedSequence failed_row(const PackedSequence& place) {
  return {.place = place, .code = "batch.length", .message = "m"};
}

// Five rows in parts of two: rows 0 and 3 are equal. Their tokens are 0, 1 | 2 to 4 | 5 | 6, 7 | 8.
TokenizedRows five_rows() {
  TokenizedRows rows = rows_with({2, 3, 1, 2, 1});
  rows.ids[6] = rows.ids[7] = rows.ids[0];
  return rows;
}
Window five_row_window(bool per_token) { return window_with(five_rows(), 2, per_token); }

// Returns `count` vectors. Vector v is (v, v).
WindowValues numbered_vectors(int count) {
  WindowValues values = {.dim = 2, .floats = {}};
  for (int v = 0; v < count; ++v)
    values.floats.insert(values.floats.end(), 2, static_cast<float>(v));
  return values;
}

constexpr PackedSequence kRow0 = {.number = 0, .tokens = 2, .first_vector = 0};
constexpr PackedSequence kRow1 = {.number = 1, .tokens = 3, .first_vector = 1};
constexpr PackedSequence kRow4 = {.number = 4, .tokens = 1, .first_vector = 4};
// The same rows if every token has a vector.
constexpr PackedSequence kTokens0 = {.number = 0, .tokens = 2, .first_vector = 0, .vectors = 2};
constexpr PackedSequence kTokens1 = {.number = 1, .tokens = 3, .first_vector = 2, .vectors = 3};

TEST(WindowResult, OfGoodRowsIsWhatWasEncoded) {
  const WindowVectors result = finish(five_row_window(false), numbered_vectors(5), {}, {});
  EXPECT_EQ(result.values, numbered_vectors(5).floats);
  EXPECT_THAT(result.set_aside, IsEmpty());
  EXPECT_EQ(result.reused, ReusedSequences());
  ASSERT_EQ(result.parts.size(), 3U);
  EXPECT_EQ(result.parts[0].stats.tokens, 5);
  EXPECT_EQ(result.parts[1].stats.tokens, 3);
  EXPECT_EQ(result.parts[2].stats.tokens, 1);
}

TEST(WindowResult, HasZerosForAFailedRowAndItsDuplicates) {
  const WindowVectors result = finish(five_row_window(false), numbered_vectors(5),
                                      {failed_row(kRow4), failed_row(kRow0)}, {});
  EXPECT_THAT(result.values, ElementsAre(0, 0, 1, 1, 2, 2, 0, 0, 0, 0));
  EXPECT_THAT(result.set_aside, ElementsAre(refused(100), refused(103), refused(104)));
  EXPECT_THAT(result.parts[0].set_aside, ElementsAre(refused(100)));
  EXPECT_THAT(result.parts[1].set_aside, ElementsAre(refused(103)));
  EXPECT_THAT(result.parts[2].set_aside, ElementsAre(refused(104)));
  for (const WindowPart& part : result.parts) EXPECT_EQ(part.stats.set_aside_rows, 1);
  EXPECT_EQ(result.parts[0].stats.tokens, 3);
  EXPECT_EQ(result.parts[1].stats.tokens, 1);
  EXPECT_EQ(result.parts[2].stats.tokens, 0);
  EXPECT_EQ(result.parts[2].vectors(), 1);
}

TEST(WindowResult, ListsAFailedRowAmongThoseThatWereSetAsideBefore) {
  Window window = five_row_window(false);
  window.parts[0].set_aside = {refused(101)};
  window.parts[0].stats.set_aside_rows = 1;
  const WindowVectors result =
      finish(std::move(window), numbered_vectors(5), {failed_row(kRow0)}, {});
  EXPECT_THAT(result.parts[0].set_aside, ElementsAre(refused(100), refused(101)));
  EXPECT_EQ(result.parts[0].stats.set_aside_rows, 2);
  EXPECT_THAT(result.set_aside, ElementsAre(refused(100), refused(103)));
}

TEST(WindowResult, AFailedRowDoesNotCountAsTruncated) {
  Window window = five_row_window(false);
  window.parts[0].truncated = {{.row = 100, .tokens = 2, .lost_tokens = 7},
                               {.row = 101, .tokens = 3, .lost_tokens = 4}};
  window.parts[0].stats.truncated_rows = 2;
  window.parts[0].stats.lost_tokens = 11;
  const WindowVectors result =
      finish(std::move(window), numbered_vectors(5), {failed_row(kRow1)}, {});
  const WindowPart& part = result.parts[0];
  EXPECT_EQ(part.stats.truncated_rows, 1);
  EXPECT_EQ(part.stats.lost_tokens, 7);
  ASSERT_EQ(part.truncated.size(), 1U);
  EXPECT_EQ(part.truncated[0].row, 100);
}

TEST(WindowResult, CountsRedoneRowsWithTheirDuplicates) {
  const WindowVectors result = finish(five_row_window(false), numbered_vectors(5), {}, {0, 1});
  EXPECT_EQ(result.parts[0].stats.redone_rows, 2);
  EXPECT_EQ(result.parts[1].stats.redone_rows, 1);
  EXPECT_EQ(result.parts[2].stats.redone_rows, 0);
}

TEST(WindowResult, LeavesOutTheVectorsOfSkippedTokens) {
  Window window = five_row_window(true);
  window.skipped = {1, 4, 5, 7};
  const WindowVectors result = finish(std::move(window), numbered_vectors(9), {}, {});
  EXPECT_THAT(result.values, ElementsAre(0, 0, 2, 2, 3, 3, 6, 6, 8, 8));
  EXPECT_THAT(result.parts[0].row_vectors, ElementsAre(1, 2));
  EXPECT_THAT(result.parts[1].row_vectors, ElementsAre(0, 1));
  EXPECT_THAT(result.parts[2].row_vectors, ElementsAre(1));
  EXPECT_EQ(result.parts[0].vectors(), 3);
  EXPECT_EQ(result.parts[1].vectors(), 1);
  EXPECT_EQ(result.parts[2].vectors(), 1);
}

// The tokens of a failed row are left out, whether they are skipped or not.
TEST(WindowResult, LeavesOutTheVectorsOfFailedRowsAndOfSkippedTokens) {
  Window window = five_row_window(true);
  window.skipped = {1, 4, 7};
  const WindowVectors result =
      finish(std::move(window), numbered_vectors(9), {failed_row(kTokens0)}, {});
  EXPECT_THAT(result.values, ElementsAre(2, 2, 3, 3, 5, 5, 8, 8));
  EXPECT_THAT(result.parts[0].row_vectors, ElementsAre(0, 2));
  EXPECT_THAT(result.parts[1].row_vectors, ElementsAre(1, 0));
  EXPECT_THAT(result.parts[2].row_vectors, ElementsAre(1));
  EXPECT_EQ(result.parts[0].stats.tokens, 2);
  EXPECT_EQ(result.parts[1].stats.tokens, 1);
  EXPECT_EQ(result.parts[2].stats.tokens, 1);
  EXPECT_THAT(result.set_aside, ElementsAre(refused(100), refused(103)));
}

TEST(WindowResult, MayHaveNoVectorAtAll) {
  Window window = window_with(rows_with({2, 3}), 2, true);
  const WindowVectors result = finish(std::move(window), numbered_vectors(5),
                                      {failed_row(kTokens1), failed_row(kTokens0)}, {});
  EXPECT_THAT(result.values, IsEmpty());
  EXPECT_EQ(result.parts[0].vectors(), 0);
  EXPECT_THAT(result.set_aside, ElementsAre(refused(100), refused(101)));
}

// Rows 100 to 103 in parts of two rows. They have 2, 1, 0 and 3 passages, of 2 tokens each; row 102
// was set aside before. The sequences 1 and 4 are equal.
Window passage_window(RowVector row_vector) {
  TokenizedRows rows = rows_with({2, 2, 2, 2, 2, 2});
  rows.ids[8] = rows.ids[9] = rows.ids[2];
  Window window;
  window.sequences = rows.size();
  window.duplicates = find_duplicates({.ids = rows});
  const std::vector<std::vector<int64_t>> counts = {{2, 1}, {0, 3}};
  int64_t row = 100;
  for (const std::vector<int64_t>& of_part : counts) {
    WindowPart& part = window.parts.emplace_back();
    part.rows = {.begin = row, .end = row + 2};
    part.chunk = {.index = std::ssize(window.parts) - 1, .rows = part.rows};
    part.passages.emplace();
    for (const int64_t count : of_part) {
      if (row_vector == RowVector::kNone) part.row_vectors.push_back(static_cast<int32_t>(count));
      for (int64_t i = 0; i < count; ++i) {
        part.passages->push_back({.row = row, .passage = i, .tokens = 2});
        part.stats.tokens += 2;
        ++part.stats.passages;
      }
      ++row;
    }
  }
  window.parts[1].set_aside = {refused(102)};
  window.parts[1].stats.set_aside_rows = 1;
  return window;
}

std::vector<int64_t> rows_of_passages(const WindowPart& part) {
  std::vector<int64_t> rows;
  for (const PassagePlace& place : part.passages.value()) rows.push_back(place.row);
  return rows;
}

TEST(PassageResult, OfGoodRowsIsWhatWasEncoded) {
  const WindowVectors result =
      finish(passage_window(RowVector::kNone), numbered_vectors(6), {}, {});
  EXPECT_EQ(result.values, numbered_vectors(6).floats);
  EXPECT_THAT(result.set_aside, IsEmpty());
  EXPECT_THAT(rows_of_passages(result.parts[0]), ElementsAre(100, 100, 101));
  EXPECT_THAT(rows_of_passages(result.parts[1]), ElementsAre(103, 103, 103));
  EXPECT_THAT(result.parts[1].row_vectors, ElementsAre(0, 3));
  EXPECT_EQ(result.parts[1].vectors(), 3);
}

TEST(PassageResult, LeavesOutTheWholeRowOfAFailedPassageAndOfItsDuplicates) {
  const PackedSequence second = {.number = 1, .tokens = 2, .first_vector = 1};
  Window window = passage_window(RowVector::kNone);
  window.parts[0].truncated = {{.row = 100, .tokens = 4, .lost_tokens = 9}};
  window.parts[0].stats.truncated_rows = 1;
  window.parts[0].stats.lost_tokens = 9;
  const WindowVectors result =
      finish(std::move(window), numbered_vectors(6), {failed_row(second)}, {});
  EXPECT_THAT(result.values, ElementsAre(2, 2));
  EXPECT_THAT(result.set_aside, ElementsAre(refused(100), refused(103)));
  EXPECT_THAT(result.parts[1].set_aside, ElementsAre(refused(102), refused(103)));
  EXPECT_THAT(rows_of_passages(result.parts[0]), ElementsAre(101));
  EXPECT_THAT(result.parts[0].row_vectors, ElementsAre(0, 1));
  EXPECT_EQ(result.parts[0].stats.tokens, 2);
  EXPECT_EQ(result.parts[0].stats.passages, 1);
  EXPECT_EQ(result.parts[0].stats.set_aside_rows, 1);
  EXPECT_EQ(result.parts[0].stats.truncated_rows, 0);
  EXPECT_EQ(result.parts[0].stats.lost_tokens, 0);
  EXPECT_EQ(result.parts[1].stats.passages, 0);
  EXPECT_EQ(result.parts[1].vectors(), 0);
}

TEST(PassageResult, CountsARowWithPassagesInFloat32Once) {
  const WindowVectors result =
      finish(passage_window(RowVector::kNone), numbered_vectors(6), {}, {0, 1, 2});
  EXPECT_EQ(result.parts[0].stats.redone_rows, 2);
  EXPECT_EQ(result.parts[1].stats.redone_rows, 1);  // sequence 4 is equal to sequence 1
}

TEST(PassageResult, OfMeansHasOneUnitVectorForEachRow) {
  WindowValues values = numbered_vectors(6);
  values.floats = {3, 0, 0, 3, 0, 7, 1, 0, 1, 0, -1, 0};
  const WindowVectors result = finish(passage_window(RowVector::kMean), values, {}, {});
  ASSERT_EQ(result.values.size(), 8U);
  EXPECT_FLOAT_EQ(result.values[0], std::sqrt(0.5F));
  EXPECT_FLOAT_EQ(result.values[1], std::sqrt(0.5F));
  EXPECT_THAT(std::vector<float>(result.values.begin() + 2, result.values.end()),
              ElementsAre(0, 1, 0, 0, 1, 0));
  EXPECT_FALSE(result.parts[0].passages.has_value());
  EXPECT_EQ(result.parts[0].vectors(), 2);
  EXPECT_EQ(result.parts[0].stats.passages, 3);
}

TEST(PassageResult, SetsARowAsideWhoseMeanIsZero) {
  WindowValues values = numbered_vectors(6);
  values.floats = {3, 0, -3, 0, 0, 7, 1, 0, 1, 0, 1, 0};
  const WindowVectors result = finish(passage_window(RowVector::kMean), values, {}, {});
  ASSERT_EQ(result.set_aside.size(), 1U);
  EXPECT_EQ(result.set_aside[0].row, 100);
  EXPECT_EQ(result.set_aside[0].code, "vector.zero");
  EXPECT_THAT(result.values, ElementsAre(0, 0, 0, 1, 0, 0, 1, 0));
}

}  // namespace
}  // namespace encode::testing
