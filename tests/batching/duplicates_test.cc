// Tests which rows of a window are duplicates, and that packing leaves them out.
#include "batching/duplicates.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "batching/pack.h"

namespace encode {
namespace {

TokenizedRows rows_of(const std::vector<std::vector<int32_t>>& ids) {
  TokenizedRows rows;
  for (const std::vector<int32_t>& row : ids) {
    rows.ids.insert(rows.ids.end(), row.begin(), row.end());
    rows.end_row();
  }
  return rows;
}

const TokenizedRows kRows = rows_of({{1, 2}, {}, {3}, {1, 2}, {2, 1}, {}, {1, 2}, {1}});

TEST(Duplicates, NameTheFirstEqualRowAndTheirTokens) {
  const std::vector<DuplicateSequence> found = find_duplicates({.ids = kRows});
  ASSERT_EQ(found.size(), 2U) << "rows without tokens are none";
  EXPECT_EQ(found[0].number, 3);
  EXPECT_EQ(found[0].first, 0);
  EXPECT_EQ(found[0].tokens, 2);
  EXPECT_EQ(found[0].first_vector, 3);
  EXPECT_EQ(found[0].first_vector_of_first, 0);
  EXPECT_EQ(found[1].number, 6);
  EXPECT_EQ(found[1].first_vector, 6);
}

TEST(Duplicates, HaveTheSameSpans) {
  Sequences sequences = {.ids = rows_of({{1, 2}, {1, 2}, {1, 2}})};
  sequences.vectors = {.offsets = {0, 2, 3, 5}, .spans = {{0, 1}, {1, 2}, {0, 2}, {0, 1}, {1, 2}}};
  const DuplicateSequence expected = {.number = 2,
                                      .first = 0,
                                      .tokens = 2,
                                      .vectors = 2,
                                      .first_vector = 3,
                                      .first_vector_of_first = 0};
  EXPECT_EQ(find_duplicates(sequences), std::vector{expected});
}

TEST(Duplicates, AreInNoBatch) {
  std::multiset<int64_t> packed;
  for (const PackedBatch& batch : pack({.ids = kRows}, 4, find_duplicates({.ids = kRows})))
    packed.insert(batch.sequence_numbers.begin(), batch.sequence_numbers.end());
  EXPECT_EQ(packed, (std::multiset<int64_t>{0, 2, 4, 7}));
}

}  // namespace
}  // namespace encode
