// Tests where the vectors of a row lie in the values of a window.
#include "job/packed_rows.h"

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoder_stand_in.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;

TEST(PackedRows, HaveTheOrderOfTheBatchesAndThePlacesOfTheWindow) {
  const std::vector<PackedBatch> batches = pack(rows_with({2, 0, 8, 3}), 8, 0);
  EXPECT_THAT(rows_of(batches), ElementsAre(PackedRow{.row = 2, .token_offset = 2, .tokens = 8},
                                            PackedRow{.row = 3, .token_offset = 10, .tokens = 3},
                                            PackedRow{.row = 0, .token_offset = 0, .tokens = 2}));
  EXPECT_TRUE(rows_of({}).empty());
}

TEST(PackedRows, KeepTheirOrderWithoutTheFailedOnes) {
  const std::vector<PackedRow> rows = {{.row = 3}, {.row = 1}, {.row = 2}};
  const std::vector<FailedRow> failed = {{.place = {.row = 1}, .code = {}, .message = ""}};
  EXPECT_THAT(without(rows, failed), ElementsAre(rows[0], rows[2]));
  EXPECT_EQ(without(rows, {}), rows);
}

TEST(WindowValues, HaveAVectorForEachRowOrForEachToken) {
  WindowValues values{.dim = 2, .per_token = false, .floats = std::vector<float>(10)};
  std::iota(values.floats.begin(), values.floats.end(), 0.0F);
  const PackedRow row = {.row = 1, .token_offset = 2, .tokens = 3};
  EXPECT_THAT(values.of(row), ElementsAre(2, 3));
  values.per_token = true;
  EXPECT_THAT(values.of(row), ElementsAre(4, 5, 6, 7, 8, 9));
}

}  // namespace
}  // namespace encode::testing
