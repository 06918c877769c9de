// Tests where the vectors of a row lie in the values of a window.
#include "job/packed_sequences.h"

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoder_stand_in.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;

TEST(PackedSequences, HaveTheOrderOfTheBatchesAndThePlacesOfTheWindow) {
  const std::vector<PackedBatch> batches = pack({.ids = rows_with({2, 0, 8, 3})}, 8);
  EXPECT_THAT(packed_sequences(batches),
              ElementsAre(PackedSequence{.number = 2, .tokens = 8, .first_vector = 2},
                          PackedSequence{.number = 3, .tokens = 3, .first_vector = 3},
                          PackedSequence{.number = 0, .tokens = 2, .first_vector = 0}));
  EXPECT_TRUE(packed_sequences({}).empty());
}

TEST(PackedSequences, WithAVectorForEachTokenHaveThePlacesOfTheirTokens) {
  const std::vector<PackedBatch> batches =
      pack(sequences_of(rows_with({2, 0, 3}), /*token_embeddings=*/true), 8);
  EXPECT_THAT(
      packed_sequences(batches),
      ElementsAre(PackedSequence{.number = 2, .tokens = 3, .first_vector = 2, .vectors = 3},
                  PackedSequence{.number = 0, .tokens = 2, .first_vector = 0, .vectors = 2}));
}

TEST(PackedSequences, KeepTheirOrderWithoutTheFailedOnes) {
  const std::vector<PackedSequence> rows = {{.number = 3}, {.number = 1}, {.number = 2}};
  const std::vector<FailedSequence> failed = {{.place = {.number = 1}, .code = {}, .message = ""}};
  EXPECT_THAT(without(rows, failed), ElementsAre(rows[0], rows[2]));
  EXPECT_EQ(without(rows, {}), rows);
}

TEST(WindowValues, HaveTheVectorsOfARow) {
  WindowValues values{.dim = 2, .floats = std::vector<float>(10)};
  std::iota(values.floats.begin(), values.floats.end(), 0.0F);
  EXPECT_THAT(values.of({.number = 1, .tokens = 3, .first_vector = 1}), ElementsAre(2, 3));
  EXPECT_THAT(values.of({.number = 1, .tokens = 3, .first_vector = 2, .vectors = 3}),
              ElementsAre(4, 5, 6, 7, 8, 9));
}

}  // namespace
}  // namespace encode::testing
