#include "model_dir/truncation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace encode {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Truncation kCut = {
    .rows = 1000, .truncated_rows = 257, .tokens = 150, .lost_tokens = 50, .max_length = 256};

TEST(Truncation, SaysHowManyRowsAndTokensAreLost) {
  EXPECT_EQ(describe(kCut, "1,000 rows"),
            "257 of 1,000 rows (25.7 %) are longer than 256 tokens; the cut loses 25.0 % of all "
            "tokens");
  EXPECT_DOUBLE_EQ(kCut.lost_share(), 0.25);
}

TEST(Truncation, NeverRoundsALossToNothing) {
  const Truncation cut = {.rows = 1'000'000,
                          .truncated_rows = 1,
                          .tokens = 1'000'000,
                          .lost_tokens = 1,
                          .max_length = 8};
  EXPECT_EQ(describe(cut, "1,000,000 rows"),
            "1 of 1,000,000 rows (less than 0.1 %) is longer than 8 tokens; the cut loses less "
            "than 0.1 % of all tokens");
}

TEST(Truncation, AdvisesALongerCutOnlyIfTheModelTakesIt) {
  Truncation cut = kCut;
  const auto advice = [&cut] { return truncation_advice(cut, "--max-length"); };
  EXPECT_THAT(advice(), HasSubstr("raise --max-length if the model allows it"));
  cut.position_limit = 512;
  EXPECT_THAT(advice(), HasSubstr("raise --max-length (at most 512 tokens with this model)"));
  cut.position_limit = 0;
  EXPECT_THAT(advice(), HasSubstr("raise --max-length, "));
  cut.position_limit = 256;
  EXPECT_THAT(advice(), Not(HasSubstr("raise")));
  EXPECT_THAT(advice(), HasSubstr("divide long texts"));
}

// Only a character that is longer than a passage is cut then.
TEST(Truncation, OfPassagesIsOfACharacterAndNamesTheirLimit) {
  const Truncation cut = {.rows = 10,
                          .truncated_rows = 1,
                          .tokens = 30,
                          .lost_tokens = 10,
                          .max_length = 12,
                          .of_passages = true};
  EXPECT_EQ(describe(cut, "10 rows"),
            "1 of 10 rows (10.0 %) has a character of more than 12 tokens; the cut loses 25.0 % of "
            "all tokens");
  EXPECT_STREQ(cut.key(), "semantic.passages.max_tokens");
  EXPECT_STREQ(kCut.key(), "semantic.max_length");
  EXPECT_EQ(truncation_advice(cut, "--passage-tokens"), "raise --passage-tokens");
}

// A run with another max_length is refused while the output has the result of the first run.
TEST(Truncation, AdvisesAnotherOutputWhenThereIsAResult) {
  EXPECT_THAT(truncation_advice(kCut, "semantic.max_length"), Not(HasSubstr("output")));
  EXPECT_THAT(truncation_advice(kCut, "--max-length", "another --output FILE"),
              HasSubstr("give the next run another --output FILE, because this result is kept"));
}

}  // namespace
}  // namespace encode
