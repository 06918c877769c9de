#include "search/search_report.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SearchSetting setting() {
  return {.matrix_path = "cache/train_tc_embeddings.npy",
          .type = OutputType::kFloat32,
          .rows = 50'621,
          .dim = 384,
          .similarity = Similarity::kCosine,
          .prompt = "",
          .queries = 1,
          .truncated_queries = 0,
          .left_out_rows = 0};
}

SearchResult result_with(const std::string& text) {
  return {
      .query = "a",
      .hits = {
          {.row = 7, .score = 0.5F, .text = {.row = 9, .utf8 = text, .bytes = std::ssize(text)}}}};
}

TEST(SearchReport, SaysWhatIsScoredAndHow) {
  EXPECT_EQ(render_setting(setting()),
            "train_tc_embeddings.npy: 50,621 rows of 384 float32 numbers, score: cosine\n");
  SearchSetting other = setting();
  other.prompt = "query: ";
  other.queries = 3;
  other.truncated_queries = 2;
  EXPECT_THAT(render_setting(other), HasSubstr("prompt: 'query: '"));
  EXPECT_THAT(render_setting(other), HasSubstr("was cut from 2 of 3 queries"));
}

TEST(SearchReport, RowsThatAreLeftOutAreCounted) {
  EXPECT_THAT(render_setting(setting()), Not(HasSubstr("left out")));
  SearchSetting other = setting();
  other.left_out_rows = 3;
  EXPECT_THAT(render_setting(other), HasSubstr("note: 3 rows are left out"));
}

TEST(SearchReport, ATextThatShowsNothingIsNamed) {
  EXPECT_THAT(render_result(setting(), result_with(" \n\t"), 80), HasSubstr("(only white space)"));
}

TEST(SearchReport, ATextIsEscapedAndOnOneLine) {
  const std::string text = "one\n\ttwo\x1b[31m \xe2\x80\xae three";
  EXPECT_EQ(render_result(setting(), result_with(text), 80),
            "     score    row  text\n"
            "    0.5000      7  one two\\x1b[31m \\u202e three\n");
}

TEST(SearchReport, ALongTextIsCutBetweenTwoCharacters) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "\xc3\xa4";
  const std::string table = render_result(setting(), result_with(text), 60);
  EXPECT_THAT(table, HasSubstr("\xc3\xa4...\n"));
  EXPECT_LT(table.size(), 250U);
  EXPECT_FALSE(Json({{"text", table}}).dump().empty()) << "dump() refuses a cut character";
}

TEST(SearchReport, QueriesAreNamedOnlyIfThereAreSeveral) {
  EXPECT_THAT(render_result(setting(), result_with("x"), 80), Not(HasSubstr("\na\n")));
  SearchSetting several = setting();
  several.queries = 2;
  EXPECT_THAT(render_result(several, result_with("x"), 80), HasSubstr("\na\n"));
}

TEST(SearchReport, TokenIdsStandInPlaceOfAText) {
  SearchResult result = result_with("");
  result.hits[0].text.input_ids = {101, 7, 102};
  EXPECT_THAT(render_result(setting(), result, 80), HasSubstr("token ids 101 7 102"));
  EXPECT_EQ(Json::parse(to_json_line(setting(), result))["hits"][0]["input_ids"],
            Json({101, 7, 102}));
}

TEST(SearchReport, TheColumnsOfTheInputStandBeforeTheText) {
  SearchSetting with_ids = setting();
  with_ids.columns = {"id", "title"};
  SearchResult result = result_with("a text");
  result.hits[0].text.columns = {"n-17", "M\xc3\xbcll\nheute"};
  result.hits.push_back({.row = 8, .score = 0.25F, .text = {.row = 10, .utf8 = "b", .bytes = 1}});
  result.hits[1].text.columns = {"5", std::nullopt};
  EXPECT_EQ(render_result(with_ids, result, 80),
            "     score    row  id    title       text\n"
            "    0.5000      7  n-17  M\xc3\xbcll heute  a text\n"
            "    0.2500      8  5                 b\n");
  const Json hits = Json::parse(to_json_line(with_ids, result))["hits"];
  EXPECT_EQ(hits[0]["columns"], Json({{"id", "n-17"}, {"title", "M\xc3\xbcll\nheute"}}));
  EXPECT_EQ(hits[1]["columns"], Json({{"id", "5"}, {"title", nullptr}}));
  EXPECT_THAT(render_result(with_ids, result, 30), Not(HasSubstr("title")))
      << "a narrow terminal has room for the first one only";
}

TEST(SearchReport, JsonHasEveryField) {
  const Json line = Json::parse(to_json_line(setting(), result_with("a\nb")));
  EXPECT_EQ(line, Json::parse(R"({"query":"a","prompt":"","matrix":"cache/train_tc_embeddings.npy",
    "output_dtype":"float32","similarity":"cosine","left_out_rows":0,"hits":[
    {"row":7,"input_row":9,"score":0.5,"text":"a\nb","text_bytes":3}]})"));
}

}  // namespace
}  // namespace encode::testing
