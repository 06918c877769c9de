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
      passages_of("max_tokens: 64, overlap: 8, by: paragraph, vectors: late, row_vector: mean");
  EXPECT_EQ(all.max_tokens, 64);
  EXPECT_EQ(all.overlap, 8);
  EXPECT_EQ(all.by, PassageUnit::kParagraph);
  EXPECT_EQ(all.vectors, PassageVectors::kLate);
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
  for (const char* wrong : {"overlap: 3", "vectors: late", "row_vector: mean"}) {
    const ErrorDetail error = refused([&] { load(wrong); });
    EXPECT_EQ(error.code.name(), "config.conflict");
    EXPECT_EQ(error.exit_code, ExitCode::kConfig);
    EXPECT_THAT(error.where, HasSubstr("run.yaml:1"));
    EXPECT_THAT(error.expected, HasSubstr("--passage-tokens"));
  }
  for (const char* wrong :
       {"max_tokens: 0", "max_tokens: x", "by: word", "overlap: -1", "vectors: x", "row_vector: x"})
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

// Loads two streams, which differ only in their passages, with a rule of all streams.
RunConfig load_streams(const std::string& semantic, const std::string& docs,
                       const std::string& output = "{}", const std::vector<Override>& flags = {}) {
  const TempDir dir;
  return load_config(
             dir.write("run.yaml",
                       "semantic: {model: m" + semantic + "}\noutput: " + output +
                           "\ndata:\n  streams:\n    docs: {text: '{a}: {b}'" + docs +
                           "}\n    questions: {field: t, passages: none}\n  splits: {s: {docs: "
                           "d.jsonl, questions: q.jsonl}}\n"),
             flags)
      .run;
}

TEST(PassageKeys, AreThoseOfAStream) {
  const RunConfig own = load_streams("", ", passages: {max_tokens: 64, field: b}");
  EXPECT_EQ(own.streams[0].result.passages.max_tokens, 64);
  EXPECT_EQ(own.streams[0].input.passage_field, "b");
  EXPECT_EQ(own.streams[1].result.passages, PassageOptions());
  const RunConfig both = load_streams(
      ", passages: {max_tokens: 64, overlap: 3, by: token, field: b, row_vector: mean}",
      ", passages: {overlap: 4, field: ''}");
  EXPECT_EQ(both.streams[0].result.passages.max_tokens, 64);
  EXPECT_EQ(both.streams[0].result.passages.overlap, 4);
  EXPECT_EQ(both.streams[0].result.passages.by, PassageUnit::kToken);
  EXPECT_EQ(both.streams[0].input.passage_field, "");
  EXPECT_EQ(both.streams[1].result.passages, PassageOptions());
  EXPECT_EQ(both.streams[1].input.passage_field, "");
}

TEST(PassageKeys, OfAStreamAreOverriddenByFlags) {
  const RunConfig run = load_streams("", ", passages: {max_tokens: 64}", "{}",
                                     {{"semantic.passages.max_tokens", "9", "--passage-tokens"}});
  EXPECT_EQ(run.streams[0].result.passages.max_tokens, 9);
  EXPECT_FALSE(run.streams[1].result.passages.cuts()) << "none is the rule of this stream";
}

TEST(PassageKeys, NoneAndAUnitCanStandInPlaceOfTheMap) {
  const RunConfig unit = load_streams("", ", passages: paragraph");
  EXPECT_EQ(unit.streams[0].result.passages.by, PassageUnit::kParagraph);
  EXPECT_FALSE(load_streams(", passages: none", "").streams[0].result.passages.cuts());
  EXPECT_EQ(passages_of("max_tokens: 9, overlap: 3, by: none"), PassageOptions());
  EXPECT_EQ(refused([] { load_streams("", ", passages: words"); }).code.name(), "config.value");
}

TEST(PassageKeys, AreReadBackFromThePrintedConfig) {
  const TempDir dir;
  const std::string path = dir.write(
      "run.yaml",
      "semantic: {model: m, passages: {max_tokens: 99, overlap: 5}}\ndata:\n  streams:\n    docs: "
      "{text: '{a}: {b}', passages: {overlap: 4, field: b}}\n    questions: {field: t, passages: "
      "none}\n  splits: {s: {docs: d.jsonl, questions: {file: q.jsonl}}}\n");
  const LoadedConfig loaded = load_config(path, {});
  for (const PrintedKeys keys : {PrintedKeys::kAll, PrintedKeys::kGiven}) {
    RunConfig again = load_config(dir.write("again.yaml", print_config(loaded, keys)), {}).run;
    again.config_path = path;
    EXPECT_EQ(again, loaded.run);
  }
}

TEST(PassageKeys, NeedAFieldThatIsOnceInTheTemplate) {
  EXPECT_EQ(load_streams("", ", passages: {by: token, field: a}").streams[0].input.passage_field,
            "a");
  for (const char* field : {"c", "'a}: {b'"}) {
    const ErrorDetail error = refused(
        [&] { load_streams("", std::string(", passages: {by: token, field: ") + field + "}"); });
    EXPECT_EQ(error.code.name(), "config.conflict");
    EXPECT_THAT(error.where, HasSubstr("run.yaml:5"));
  }
  EXPECT_EQ(refused([] { load("by: token, field: other"); }).code.name(), "config.conflict");
  EXPECT_EQ(refused([] { load("field: t"); }).code.name(), "config.conflict");
  EXPECT_EQ(load("by: token, field: t").streams.front().input.passage_field, "")
      << "the whole text is cut";
}

TEST(PassageKeys, OfAStreamThatIsNotCombinedCanGiveItSeveralVectors) {
  const ErrorDetail error =
      refused([] { load_streams("", ", passages: {by: token}", "{combine: [docs, questions]}"); });
  EXPECT_EQ(error.code.name(), "config.conflict");
  EXPECT_THAT(error.found, HasSubstr("s_docs"));
  EXPECT_NO_THROW(load_streams("", ", passages: {by: token, row_vector: mean}",
                               "{combine: [docs, questions]}"));
}

TEST(PassageKeys, GiveAllTablesOfARunTheSameColumns) {
  const ErrorDetail error =
      refused([] { load_streams("", ", passages: {by: token}", "{format: parquet}"); });
  EXPECT_EQ(error.code.name(), "config.conflict");
  EXPECT_THAT(error.found, HasSubstr("s_questions"));
  EXPECT_NO_THROW(
      load_streams("", ", passages: {by: token, row_vector: mean}", "{format: parquet}"));
}

}  // namespace
}  // namespace encode::testing
