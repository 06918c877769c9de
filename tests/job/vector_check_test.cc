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

PackedSequence numbered(int64_t row) { return {.number = row, .tokens = 2, .first_vector = row}; }

// A batch of rows, each of two tokens.
PackedBatch batch_of(const std::vector<PackedSequence>& rows) {
  PackedBatch batch;
  batch.cu_seqlens = {0};
  for (const PackedSequence& row : rows) {
    batch.sequence_numbers.push_back(row.number);
    batch.first_vectors.push_back(row.first_vector);
    batch.vectors.push_back(static_cast<int32_t>(row.vectors));
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + static_cast<int32_t>(row.tokens));
  }
  return batch;
}

CheckedSequences check_vectors(const std::vector<PackedSequence>& rows, WindowValues& values,
                               const VectorRules& rules) {
  WindowCheck check(values, rules, VectorPrecision::kFloat32);
  check.add(batch_of(rows));
  return check.result(rows);
}

TEST(VectorCheck, SortsTheRowsIntoGoodAndBadOnes) {
  WindowValues values = {.dim = 2, .floats = {0.6F, 0.8F, kNotANumber, 1, 0, 0, 3, 4}};
  const std::vector<PackedSequence> rows = {numbered(3), numbered(0), numbered(2), numbered(1)};
  const CheckedSequences checked = check_vectors(rows, values, {.unit_norm = true});
  EXPECT_THAT(checked.good, ElementsAre(numbered(0)));
  EXPECT_THAT(
      checked.bad,
      ElementsAre(FailedSequence{.place = numbered(3),
                                 .code = "vector.norm",
                                 .message = "the norm is 5.000000, but the model normalizes"},
                  FailedSequence{
                      .place = numbered(2), .code = "vector.zero", .message = "all values are 0"},
                  FailedSequence{.place = numbered(1),
                                 .code = "vector.not_finite",
                                 .message = "a value is NaN or infinite"}));
}

TEST(VectorCheck, LooksOnlyAtTheRowsThatItIsAskedFor) {
  WindowValues values = {.dim = 2, .floats = {1, 1, kNotANumber, 1, 0, 0}};
  const std::vector<PackedSequence> rows = {numbered(0), numbered(2)};
  const CheckedSequences checked = check_vectors(rows, values, {.may_be_zero = true});
  EXPECT_EQ(checked.good, rows);
  EXPECT_THAT(checked.bad, IsEmpty());
}

PackedSequence with_two_vectors(int64_t row) {
  return {.number = row, .tokens = 2, .first_vector = 2 * row, .vectors = 2};
}

TEST(VectorCheck, LooksAtEachTokenOfARow) {
  WindowValues values = {.dim = 2, .floats = {0, 0, 1, 1, 1, 1, 1, kNotANumber, 0, 0, 0, 0}};
  const std::vector<PackedSequence> rows = {with_two_vectors(0), with_two_vectors(1),
                                            with_two_vectors(2)};
  const CheckedSequences checked = check_vectors(rows, values, {.of_tokens = true});
  EXPECT_THAT(checked.good, ElementsAre(rows[0]));
  ASSERT_EQ(checked.bad.size(), 2U);
  EXPECT_EQ(checked.bad[0].code.name(), "vector.not_finite");
  EXPECT_EQ(checked.bad[1].code.name(), "vector.zero");
}

TEST(VectorCheck, WantsEachVectorOfARowToBeRight) {
  WindowValues values = {.dim = 2, .floats = {1, 0, 0, 1, 0.6F, 0.8F, 1, 1, 0, 1, 0, 0}};
  const std::vector<PackedSequence> rows = {with_two_vectors(0), with_two_vectors(1),
                                            with_two_vectors(2)};
  const CheckedSequences checked = check_vectors(rows, values, {.unit_norm = true});
  EXPECT_THAT(checked.good, ElementsAre(rows[0]));
  ASSERT_EQ(checked.bad.size(), 2U);
  EXPECT_EQ(checked.bad[0].code.name(), "vector.norm");
  EXPECT_EQ(checked.bad[1].code.name(), "vector.zero");
}

// A vector that is not finite can get another value before the result is asked for.
TEST(VectorCheck, AReplacedVectorIsCheckedAgain) {
  WindowValues values = {.dim = 2, .floats = {1, 0, kNotANumber, 1, kNotANumber, 1}};
  const std::vector<PackedSequence> rows = {numbered(0), numbered(1), numbered(2)};
  const VectorRules rules = {.unit_norm = true};
  WindowCheck check(values, rules, VectorPrecision::kFloat32);
  check.add(batch_of({rows[2], rows[0]}));
  check.add(batch_of({rows[1]}));
  EXPECT_THAT(check.not_finite(), ElementsAre(rows[2], rows[1]));
  values.floats = {1, 0, 0, 1, 3, 4};
  const CheckedSequences checked = check.result(rows);
  EXPECT_THAT(checked.good, ElementsAre(rows[0], rows[1]));
  ASSERT_EQ(checked.bad.size(), 1U);
  EXPECT_EQ(checked.bad[0].place, rows[2]);
  EXPECT_EQ(checked.bad[0].code.name(), "vector.norm");
}

TEST(VectorCheck, RoundsBeforeItLooksForInfinity) {
  WindowValues values = {.dim = 2, .floats = {1.0001F, 1, 70'000, 1}};
  const std::vector<PackedSequence> rows = {numbered(0), numbered(1)};
  const VectorRules rules;
  WindowCheck check(values, rules, VectorPrecision::kFloat16);
  check.add(batch_of(rows));
  EXPECT_THAT(check.not_finite(), IsEmpty());  // the float32 model would give the same value
  const CheckedSequences checked = check.result(rows);
  EXPECT_EQ(values.floats[0], 1);
  EXPECT_THAT(checked.good, ElementsAre(rows[0]));
  ASSERT_EQ(checked.bad.size(), 1U);
  EXPECT_EQ(checked.bad[0].code.name(), "vector.not_finite");
}

}  // namespace
}  // namespace encode::testing
