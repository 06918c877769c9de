// Tests the keys of passages: what is read, and what is refused.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/refused.h"
#include "config/load.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfig load(const std::string& passages, const std::string& output = "{}",
               const std::vector<Override>& flags = {}) {
  const TempDir dir;
  const std::string semantic = passages.empty() ? "" : ", passages: {" + passages + "}";
  return load_config(dir.write("run.yaml", "semantic: {model: m" + semantic + "}\noutput: " +
                                               output + "\ninput: {file: a.jsonl, field: t}\n"),
                     flags)
      .run;
}

PassageOptions passages_of(const std::string& passages, const std::vector<Override>& flags = {}) {
  return load(passages, "{}", flags).streams.front().result.passages;
}

// Returns the error for two streams that are combined.
ErrorDetail refused_combination(const std::string& passages) {
  const TempDir dir;
  return refused([&] {
    load_config(dir.write("run.yaml", "semantic: {model: m, combine: true, passages: {" + passages +
                                          "}}\ndata: {splits: {s: {a: {file: a.jsonl, field: t}, "
                                          "b: {file: b.jsonl, field: t}}}}\n"),
                {});
  });
}

TEST(PassageKeys, CutNothingByDefault) {
  EXPECT_EQ(passages_of(""), PassageOptions());
  EXPECT_FALSE(PassageOptions().cuts());
}

TEST(PassageKeys, SayHowTheTextsAreCut) {
  const PassageOptions all =
      passages_of("max_tokens: 64, overlap: 8, by: paragraph, row_vector: mean");
  EXPECT_EQ(all.max_tokens, 64);
  EXPECT_EQ(all.overlap, 8);
  EXPECT_EQ(all.by, PassageUnit::kParagraph);
  EXPECT_EQ(all.row_vector, RowVector::kMean);
  EXPECT_TRUE(passages_of("max_tokens: 64").cuts());
  EXPECT_TRUE(passages_of("by: token").cuts());
}

TEST(PassageKeys, AreOverriddenByFlagsAndSettings) {
  const PassageOptions both = passages_of(
      "max_tokens: 64, by: token",
      {{"semantic.passages.max_tokens", "9", "--set"}, {"semantic.passages.by", "null", "--set"}});
  EXPECT_EQ(both.max_tokens, 9);
  EXPECT_EQ(both.by, std::nullopt);
}

TEST(PassageKeys, GiveATableTheColumnsOfTheirPlaces) {
  const auto names = [](const FinalFormat& format) {
    std::vector<std::string> all;
    for (const TableColumn& column : format.columns) all.push_back(column.name);
    return all;
  };
  EXPECT_THAT(names(load("by: token", "{format: parquet, columns: [id]}").store.final_format),
              ElementsAre("source_row", "passage", "byte_begin", "byte_end", "char_begin",
                          "char_end", "id"));
  EXPECT_THAT(names(load("by: token, row_vector: mean", "{format: parquet, columns: [id]}")
                        .store.final_format),
              ElementsAre("id"));
  EXPECT_THAT(names(load("", "{format: parquet, columns: [id]}").store.final_format),
              ElementsAre("id"));
  EXPECT_TRUE(load("by: token").store.final_format.columns.empty());
  EXPECT_EQ(
      refused([&] { load("by: token", "{format: parquet, columns: [passage]}"); }).code.name(),
      "config.conflict");
}

TEST(PassageKeys, AreRefusedIfTheyMeanNothing) {
  for (const char* wrong : {"overlap: 3", "row_vector: mean"}) {
    const ErrorDetail error = refused([&] { load(wrong); });
    EXPECT_EQ(error.code.name(), "config.conflict");
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
    EXPECT_THAT(error.where, HasSubstr("run.yaml:1"));
    EXPECT_THAT(error.expected, HasSubstr("--passage-tokens"));
  }
  for (const char* wrong : {"max_tokens: 0", "max_tokens: x", "by: word", "overlap: -1",
                            "vectors: late", "row_vector: x"})
    EXPECT_EQ(refused([&] { load(wrong); }).exit_code, ExitCode::kConfig) << wrong;
}

TEST(PassageKeys, NeedRoomForNewTokens) {
  EXPECT_EQ(passages_of("max_tokens: 9, overlap: 8").overlap, 8);
  const ErrorDetail error = refused([&] { load("max_tokens: 9, overlap: 9"); });
  EXPECT_EQ(error.code.name(), "config.conflict");
  EXPECT_THAT(error.expected, HasSubstr("below 9"));
}

TEST(PassageKeys, ExcludeAVectorForEachToken) {
  const std::vector<Override> none = {{"semantic.pooling", "none", "--pooling"}};
  EXPECT_FALSE(passages_of("", none).cuts());
  const ErrorDetail error = refused([&] { load("by: token", "{}", none); });
  EXPECT_EQ(error.code.name(), "config.conflict");
  EXPECT_EQ(error.exit_code, ExitCode::kUsage);
}

TEST(PassageKeys, ExcludeACombinedMatrixUnlessARowHasOneVector) {
  const ErrorDetail error = refused_combination("by: token");
  EXPECT_EQ(error.code.name(), "config.conflict");
  EXPECT_THAT(error.expected, HasSubstr("row_vector: mean"));
  EXPECT_THAT(error.where, HasSubstr("run.yaml:1"));
}

}  // namespace
}  // namespace encode::testing
