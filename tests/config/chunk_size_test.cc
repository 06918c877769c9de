// The number of rows in a chunk that a config stands for.
#include <gtest/gtest.h>

#include "config/load.h"
#include "support/paths.h"

namespace encode {
namespace {

TEST(ChunkSize, IsThatOfTheUserOrDependsOnTheRows) {
  const std::string quickstart = testing::source_file("configs/quickstart.yaml");
  EXPECT_EQ(load_config(quickstart, {}).run.store,
            load_config(quickstart, {{"semantic.chunk_size", "0", "--chunk-size"}}).run.store);
  const Override given = {"semantic.chunk_size", "1000", "--chunk-size"};
  EXPECT_EQ(load_config(quickstart, {given}).run.store.chunk_rows(100), 1000);
}

TEST(ChunkSize, AStreamHasTwentyChunksWithinTheLimitsOfTheirSize) {
  const StoreOptions store =
      load_config(testing::source_file("configs/quickstart.yaml"), {}).run.store;
  struct Case {
    int64_t rows;
    int64_t chunk;
  };
  for (const auto& [rows, chunk] :
       {Case{0, 50}, Case{1, 50}, Case{1000, 50}, Case{1001, 51}, Case{5000, 250},
        Case{19'980, 999}, Case{19'981, 1000}, Case{20'000, 1000}, Case{1'000'000'000'000, 1000}})
    EXPECT_EQ(store.chunk_rows(rows), chunk) << rows;
}

}  // namespace
}  // namespace encode
