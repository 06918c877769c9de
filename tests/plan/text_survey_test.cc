// Tests the lengths that a survey of an input finds.
#include "plan/text_survey.h"

#include <string>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "support/temp_dir.h"

namespace encode::testing {
namespace {

InputOptions ids_file(const TempDir& dir, int64_t rows) {
  std::string text;
  for (int64_t row = 0; row < rows; ++row)
    text += row % 2 == 0 ? "{\"text\":[1,2,3,4]}\n" : "{\"text\":[1,2]}\n";
  InputOptions input;
  input.path = dir.write("ids.jsonl", text);
  input.field = "text";
  return input;
}

TEST(TextSurvey, CountsAndCutsRows) {
  const TempDir dir;
  const TextSurvey survey = survey_texts(ids_file(dir, 10), {.tokenize = {.max_length = 3}});
  EXPECT_EQ(survey.facts.rows, 10);
  EXPECT_EQ(survey.facts.tokens, 5 * 3 + 5 * 2);
  EXPECT_EQ(survey.facts.longest_row_tokens, 3);
  EXPECT_EQ(survey.stride, 1);
  EXPECT_DOUBLE_EQ(survey.truncated_share, 0.5);
}

// The sample of a large input is spread over all of it, and its sums are extrapolated.
TEST(TextSurvey, SamplesALargeInput) {
  const TempDir dir;
  const TextSurvey survey = survey_texts(ids_file(dir, 50'001), {.tokenize = {.max_length = 8}});
  EXPECT_EQ(survey.facts.rows, 50'001);
  EXPECT_EQ(survey.stride, 4);
  EXPECT_EQ(survey.sample.size(), 12'501U);
  EXPECT_EQ(survey.facts.longest_row_tokens, 8) << "a row outside the sample may be longer";
}

TEST(TextSurvey, AnInputWithoutRowsIsRefused) {
  const TempDir dir;
  InputOptions input;
  input.path = dir.write("empty.txt", "");
  try {
    survey_texts(input, {});
    FAIL() << "the input was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "plan.rows");
  }
}

}  // namespace
}  // namespace encode::testing
