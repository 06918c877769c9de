// Tests the key `where`, the filter of the rows of a split.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "loading.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string splits(const std::string& a, const std::string& b, const std::string& more = "") {
  return "semantic: {model: m}\n" + more + "data:\n  splits: {s: {a: " + a + ", b: " + b + "}}\n";
}

TEST(FilterKeys, AllStreamsOfASplitHaveTheFilterOfOne) {
  const LoadedConfig loaded =
      load_text(splits("{file: a.csv, field: x, where: lang = 'en', utf8: error}",
                       "{file: [b.jsonl, c.jsonl], field: y}"));
  const InputFilter& own = loaded.run.streams[0].input.filter;
  EXPECT_EQ(own.where, "lang = 'en'");
  EXPECT_FALSE(own.reads_other_input());
  const InputFilter& other = loaded.run.streams[1].input.filter;
  EXPECT_EQ(other.where, own.where);
  EXPECT_THAT(other.paths, ElementsAre("a.csv"));
  EXPECT_EQ(other.utf8, Utf8Policy::kError);
  EXPECT_EQ(other.max_row_bytes, loaded.run.streams[0].input.max_row_bytes);
  expect_round_trip(loaded);
}

TEST(FilterKeys, AnotherSplitHasNoFilter) {
  const LoadedConfig loaded = load_text(
      "semantic: {model: m}\ndata:\n  streams: {a: {field: x}, b: {field: y}}\n  splits:\n"
      "    s: {a: {file: a.jsonl, where: n > 1}, b: b.jsonl}\n"
      "    t: {a: c.jsonl, b: d.jsonl}\n");
  EXPECT_TRUE(loaded.run.streams[1].input.filter.any());
  EXPECT_FALSE(loaded.run.streams[2].input.filter.any() ||
               loaded.run.streams[3].input.filter.any());
}

TEST(FilterKeys, StreamsOfOneFileReadTheFilterThemselves) {
  const LoadedConfig loaded =
      load_text(splits("{file: a.jsonl, field: x, where: n > 1}", "{file: a.jsonl, field: y}"));
  EXPECT_EQ(loaded.run.streams[1].input.filter.where, "n > 1");
  EXPECT_FALSE(loaded.run.streams[1].input.filter.reads_other_input());
  // A flag is for all streams, which is the same filter only if they read the same records.
  EXPECT_TRUE(refusal(splits("{file: a.jsonl, field: x}", "{file: a.jsonl, field: y}"),
                      {{"input.where", "n > 1", "--where"}})
                  .what.empty());
  const ErrorDetail two = refusal(splits("{file: a.jsonl, field: x}", "{file: b.jsonl, field: y}"),
                                  {{"input.where", "n > 1", "--where"}});
  EXPECT_EQ(two.code.name(), "config.conflict");
}

TEST(FilterKeys, ASplitHasOneFilter) {
  const ErrorDetail two = refusal(
      splits("{file: a.jsonl, field: x, where: n > 1}", "{file: b.jsonl, field: y, where: n > 1}"));
  EXPECT_EQ(two.code.name(), "config.conflict");
  EXPECT_THAT(two.found, HasSubstr("s_a and at s_b"));
  EXPECT_EQ(two.exit_code, ExitCode::kConfig);
}

TEST(FilterKeys, AFilterThatCannotBeReadIsAnErrorWithItsPlace) {
  const ErrorDetail of_file =
      refusal("semantic: {model: m}\ninput: {file: a.jsonl, field: x, where: 'n >'}\n");
  EXPECT_EQ(of_file.code.name(), "config.filter");
  EXPECT_EQ(of_file.exit_code, ExitCode::kConfig);
  EXPECT_THAT(of_file.where, HasSubstr(":2:41"));
  const ErrorDetail of_flags = refusal("", {{"semantic.model", "m", "--model"},
                                            {"input.file", "a.jsonl", "--input"},
                                            {"input.field", "x", "--field"},
                                            {"input.where", "n >> 1", "--where"}});
  EXPECT_EQ(of_flags.exit_code, ExitCode::kUsage);
  EXPECT_EQ(of_flags.where, "--where");
  EXPECT_THAT(of_flags.found, HasSubstr("at character 4"));
}

TEST(FilterKeys, LinesHaveNoFieldsForAFilter) {
  const ErrorDetail lines = refusal("semantic: {model: m}\ninput: {file: a.txt, where: n > 1}\n");
  EXPECT_EQ(lines.code.name(), "config.conflict");
  EXPECT_THAT(lines.what, HasSubstr("lines"));
}

TEST(FilterKeys, ATableGetsTheColumnOfTheRecords) {
  const auto columns_of = [](const std::string& output, const std::string& where) {
    return load_text("semantic: {model: m}\noutput: " + output +
                     "\ninput: {file: a.jsonl, field: x" + where + "}\n")
        .run.store.final_format.columns;
  };
  const std::string filter = ", where: n > 1";
  const TableColumn added = {.name = "source_row", .source = kSourceRowSource};
  EXPECT_THAT(columns_of("{format: parquet}", filter), ElementsAre(added));
  EXPECT_THAT(columns_of("{format: parquet, columns: [row]}", filter),
              ElementsAre(TableColumn{"row", "row"}, added));
  EXPECT_THAT(columns_of("{format: parquet, columns: [source_row, row]}", filter),
              ElementsAre(added, TableColumn{"row", "row"}));
  EXPECT_THAT(columns_of("{format: npy}", filter), ElementsAre());
  // Without a filter, it is a field of the input as ever.
  EXPECT_THAT(columns_of("{format: parquet, columns: [source_row]}", ""),
              ElementsAre(TableColumn{"source_row", "source_row"}));
}

TEST(FilterKeys, AFilterGivesARunOfFlagsANameOfItsOwn) {
  const auto name_of = [](const std::string& where) {
    std::vector<Override> flags = {
        {"semantic.model", "m", "-1"}, {"input.file", "a.jsonl", "-2"}, {"input.field", "x", "-3"}};
    if (!where.empty()) flags.push_back({"input.where", where, "-4"});
    return load_config("", flags).run.streams.front().name();
  };
  EXPECT_NE(name_of("n > 1"), name_of("n > 2"));
  EXPECT_NE(name_of("n > 1"), name_of(""));
}

}  // namespace
}  // namespace encode::testing
