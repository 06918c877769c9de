// Tests how the vectors of the tokens in a skip list are left out.
#include "job/skip_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SkipList, FindsItsTokensInAllRows) {
  const TokenizedRows rows = {
      .ids = {2, 7, 3, 2, 9, 7, 3}, .offsets = {0, 3, 7}, .lost_tokens = {0, 0}};
  EXPECT_THAT(skipped_tokens(rows, {7}), ElementsAre(1, 5));
  EXPECT_THAT(skipped_tokens(rows, {2, 9}), ElementsAre(0, 3, 4));
  EXPECT_THAT(skipped_tokens(rows, {8}), IsEmpty());
  EXPECT_THAT(skipped_tokens(rows, {}), IsEmpty());
  EXPECT_THAT(skipped_tokens({}, {7}), IsEmpty());
}

TEST(SkipList, ErasesTheVectorsAtItsPositions) {
  const auto left = [](const std::vector<int64_t>& positions) {
    std::vector<float> values = {0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5};  // four vectors of width 2
    erase_vectors(positions, 2, values);
    return values;
  };
  EXPECT_THAT(left({0}), ElementsAre(1, 1.5, 2, 2.5, 3, 3.5));
  EXPECT_THAT(left({3}), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5));
  EXPECT_THAT(left({1, 2}), ElementsAre(0, 0.5, 3, 3.5));
  EXPECT_THAT(left({0, 2}), ElementsAre(1, 1.5, 3, 3.5));
  EXPECT_THAT(left({0, 1, 2, 3}), IsEmpty());
  EXPECT_THAT(left({}), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5));
}

}  // namespace
}  // namespace encode::testing
