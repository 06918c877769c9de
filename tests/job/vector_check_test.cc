// Tests which vectors are refused, and why.
#include "job/vector_check.h"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

PackedRow numbered(int64_t row) { return {.row = row, .token_offset = 2 * row, .tokens = 2}; }

TEST(VectorCheck, SortsTheRowsIntoGoodAndBadOnes) {
  const WindowValues values = {
      .dim = 2, .per_token = false, .floats = {0.6F, 0.8F, kNotANumber, 1, 0, 0, 3, 4}};
  const std::vector<PackedRow> rows = {numbered(3), numbered(0), numbered(2), numbered(1)};
  const CheckedRows checked = check_vectors(rows, values, {.unit_norm = true});
  EXPECT_THAT(checked.good, ElementsAre(numbered(0)));
  EXPECT_THAT(
      checked.bad,
      ElementsAre(
          FailedRow{.place = numbered(3),
                    .code = "vector.norm",
                    .message = "the norm is 5.000000, but the model normalizes"},
          FailedRow{.place = numbered(2), .code = "vector.zero", .message = "all values are 0"},
          FailedRow{.place = numbered(1),
                    .code = "vector.not_finite",
                    .message = "a value is NaN or infinite"}));
}

TEST(VectorCheck, LooksOnlyAtTheRowsThatItIsAskedFor) {
  const WindowValues values = {
      .dim = 2, .per_token = false, .floats = {1, 1, kNotANumber, 1, 0, 0}};
  const std::vector<PackedRow> rows = {numbered(0), numbered(2)};
  const CheckedRows checked = check_vectors(rows, values, {.may_be_zero = true});
  EXPECT_EQ(checked.good, rows);
  EXPECT_THAT(checked.bad, IsEmpty());
}

TEST(VectorCheck, LooksAtEachTokenOfARow) {
  const WindowValues values = {
      .dim = 2, .per_token = true, .floats = {1, 1, 1, 1, 1, 1, 1, kNotANumber}};
  const std::vector<PackedRow> rows = {numbered(0), numbered(1)};
  const CheckedRows checked = check_vectors(rows, values, {});
  EXPECT_THAT(checked.good, ElementsAre(numbered(0)));
  ASSERT_EQ(checked.bad.size(), 1U);
  EXPECT_EQ(checked.bad[0].place, numbered(1));
}

}  // namespace
}  // namespace encode::testing
