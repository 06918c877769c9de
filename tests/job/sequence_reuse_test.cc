// Tests how rows get the vectors of equal rows.
#include "job/sequence_reuse.h"

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoder_stand_in.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<EmbeddingKey> keys_from(std::initializer_list<int> numbers) {
  std::vector<EmbeddingKey> keys;
  for (const int number : numbers) keys.emplace_back().bytes[0] = static_cast<std::byte>(number);
  return keys;
}

WindowValues two_columns(std::vector<float> floats) {
  return {.dim = 2, .floats = std::move(floats)};
}

// A job with an embedding cache.
class CachedJob {
 public:
  CachedJob() : job_(8) {
    job_.spec.embedding_cache = {
        .dir = job_.dir.file("cache"), .memory_bytes = 1 << 20, .disk_bytes = 50'000'000};
  }
  const WorkerContext& context() const { return job_.context; }

 private:
  StandInJob job_;
};

TEST(WindowCache, GivesARowOfALaterWindowTheVectorThatAnEarlierOneHasPut) {
  const CachedJob job;
  CacheSession session(job.context());
  const std::vector<PackedSequence> rows = {{.number = 1, .tokens = 5, .first_vector = 1},
                                            {.number = 0, .tokens = 3}};
  const std::vector<EmbeddingKey> first = keys_from({7, 8});
  WindowCache(session, first).put(rows, {1}, two_columns({1, 2, 3, 4}));

  const std::vector<EmbeddingKey> second = keys_from({8, 9, 7});
  const std::vector<PackedSequence> asked = {{.number = 0, .tokens = 5},
                                             {.number = 1, .tokens = 1, .first_vector = 1},
                                             {.number = 2, .tokens = 3, .first_vector = 2}};
  WindowValues values = two_columns(std::vector<float>(6));
  const CacheHits hits = WindowCache(session, second).find(asked, values);
  EXPECT_THAT(hits.sequences, ElementsAre(0, 2));
  EXPECT_THAT(hits.redone, ElementsAre(0));
  EXPECT_EQ(hits.tokens, 8);
  EXPECT_THAT(values.floats, ElementsAre(3, 4, 0, 0, 1, 2));
}

TEST(WindowCache, HasNothingForAWindowWithoutKeysOrAJobWithoutCache) {
  const CachedJob job;
  CacheSession session(job.context());
  const std::vector<PackedSequence> rows = {{.number = 0, .tokens = 1}};
  WindowValues values = two_columns({1, 2});
  WindowCache(session, {}).put(rows, {}, values);
  EXPECT_THAT(WindowCache(session, {}).find(rows, values).sequences, IsEmpty());

  const StandInJob without_cache(8);
  CacheSession off(without_cache.context);
  const std::vector<EmbeddingKey> keys = keys_from({7});
  WindowCache(off, keys).put(rows, {}, values);
  EXPECT_THAT(WindowCache(off, keys).find(rows, values).sequences, IsEmpty());
}

// Rows 0 and 2 are equal, and so are rows 1 and 3.
std::vector<DuplicateSequence> two_duplicates() {
  return {{.number = 2, .first = 0, .tokens = 1, .first_vector = 2, .first_vector_of_first = 0},
          {.number = 3, .first = 1, .tokens = 2, .first_vector = 3, .first_vector_of_first = 1}};
}

TEST(Duplicates, GetTheVectorOfTheirFirstRow) {
  WindowValues values = two_columns({1, 2, 3, 4, 0, 0, 0, 0});
  EXPECT_EQ(copy_duplicates(two_duplicates(), {}, values),
            (ReusedSequences{.sequences = 2, .tokens = 3}));
  EXPECT_THAT(values.floats, ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
}

TEST(Duplicates, GetTheVectorsOfAllTokensOfTheirFirstRow) {
  const std::vector<DuplicateSequence> duplicates = {
      {.number = 2, .first = 0, .tokens = 1, .first_vector = 3, .first_vector_of_first = 0},
      {.number = 3,
       .first = 1,
       .tokens = 2,
       .vectors = 2,
       .first_vector = 4,
       .first_vector_of_first = 1}};
  WindowValues values = two_columns({1, 1, 2, 2, 3, 3, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(copy_duplicates(duplicates, {}, values),
            (ReusedSequences{.sequences = 2, .tokens = 3}));
  EXPECT_THAT(values.floats, ElementsAre(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3));
}

TEST(Duplicates, OfAFailedRowGetNothing) {
  WindowValues values = two_columns({1, 2, 3, 4, 0, 0, 0, 0});
  const std::vector<FailedSequence> failed = {
      {.place = {.number = 0, .tokens = 1}, .code = "vector.zero", .message = ""}};
  EXPECT_EQ(copy_duplicates(two_duplicates(), failed, values),
            (ReusedSequences{.sequences = 1, .tokens = 2}));
  EXPECT_THAT(values.floats, ElementsAre(1, 2, 3, 4, 0, 0, 3, 4));
}

}  // namespace
}  // namespace encode::testing
