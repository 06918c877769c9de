// Tests that edit_config() changes the bytes of one value and nothing else.
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "config/edit/config_edit.h"
#include "config/edit/line_diff.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

std::string edited(const std::string& yaml, const ConfigEdit& edit) {
  const testing::TempDir dir;
  return edit_config(dir.write("run.yaml", yaml), std::vector{edit}).new_text;
}

struct Case {
  const char* name;
  std::string before;
  ConfigEdit edit;
  std::string after;
};
std::ostream& operator<<(std::ostream& out, const Case& test) { return out << test.name; }

const std::vector<Case> cases = {
    {"CommentStays",
     "semantic:\n  model: m\n  batch_size:   32   # rows\n",
     {"semantic.batch_size", "8"},
     "semantic:\n  model: m\n  batch_size:   8   # rows\n"},
    {"QuotedTextWithAHash",
     "semantic: \n  prompt: 'it''s # no comment' # but this is\n",
     {"semantic.prompt", "\"query: \""},
     "semantic: \n  prompt: \"query: \" # but this is\n"},
    {"TextOverTwoLines",
     "semantic:\n  prompt: \"a \\\"b\n    c\"  # d\n  model: m\n",
     {"semantic.prompt", "x"},
     "semantic:\n  prompt: x  # d\n  model: m\n"},
    {"ValueOnTheNextLine",
     "semantic:\n  model:\n    # which one\n    m\n",
     {"semantic.model", "n"},
     "semantic:\n  model:\n    # which one\n    n\n"},
    {"NoValue",
     "semantic:\n  max_length:  # as the model says\n  model: m\n",
     {"semantic.max_length", "128"},
     "semantic:\n  max_length: 128  # as the model says\n  model: m\n"},
    {"Null",
     "semantic: {max_length: ~, model: m}\n",
     {"semantic.max_length", "128"},
     "semantic: {max_length: 128, model: m}\n"},
    {"WrittenAsNull",
     "semantic: {max_length: 128, model: m}\n",
     {"semantic.max_length", "null"},
     "semantic: {max_length: null, model: m}\n"},
    {"Brackets",
     "semantic: { model: \"a, }b\", batch_size: 32 }  # x\n",
     {"semantic.batch_size", "8"},
     "semantic: { model: \"a, }b\", batch_size: 8 }  # x\n"},
    {"NonAsciiBefore",
     "semantic: {prompt: \"\xc3\xa9\xe2\x82\xac\", batch_size: 32}\n",
     {"semantic.batch_size", "8"},
     "semantic: {prompt: \"\xc3\xa9\xe2\x82\xac\", batch_size: 8}\n"},
    {"ByteOrderMark",
     "\xef\xbb\xbfsemantic: {batch_size: 32}\n",
     {"semantic.batch_size", "8"},
     "\xef\xbb\xbfsemantic: {batch_size: 8}\n"},
    {"CarriageReturns",
     "semantic:\r\n  batch_size: 32\r\n  model: m\r\n",
     {"semantic.batch_size", "8"},
     "semantic:\r\n  batch_size: 8\r\n  model: m\r\n"},
    {"OtherNameOfTheKey",
     "semantic: {cache_directory: a}\n",
     {"semantic.cache_dir", "b"},
     "semantic: {cache_directory: b}\n"},
    {"QuotedKeys",
     "{\"semantic\": {\"batch_size\":32}}",
     {"semantic.batch_size", "8"},
     "{\"semantic\": {\"batch_size\":8}}"},
    {"NewKey",
     "semantic:\n    model: m # here\n    # no more\n\nlog: {json: true}\n",
     {"semantic.batch_tokens", "4096"},
     "semantic:\n    model: m # here\n    batch_tokens: 4096\n    # no more\n\nlog: {json: "
     "true}\n"},
    {"NewKeyInBrackets",
     "semantic: {model: m,\n  dtype: float32,  # exact\n}\n",
     {"semantic.batch_tokens", "auto"},
     "semantic: {model: m,\n  dtype: float32, batch_tokens: auto,  # exact\n}\n"},
    {"NewKeyInEmptyBrackets",
     "semantic: {}\n",
     {"semantic.batch_tokens", "4096"},
     "semantic: {batch_tokens: 4096}\n"},
    {"NewKeyInQuotes",
     "{\"semantic\": {\"model\": \"m\"}}",
     {"hardware.threads", "2"},
     "{\"semantic\": {\"model\": \"m\"}, \"hardware\": {\"threads\": 2}}"},
    {"NewKeyAfterABlock",
     "semantic:\n  model: m\n  prompt: |\n    a # b\n\n    c\n\nlog:\n  json: true\n",
     {"semantic.batch_tokens", "4096"},
     "semantic:\n  model: m\n  prompt: |\n    a # b\n\n    c\n  batch_tokens: 4096\n\nlog:\n  "
     "json: "
     "true\n"},
    {"NewKeyAfterABlockThatKeepsItsEnd",
     "semantic:\n  prompt: |+ # c\n    a\n\nlog:\n  json: true\n",
     {"semantic.batch_tokens", "4096"},
     "semantic:\n  prompt: |+ # c\n    a\n\n  batch_tokens: 4096\nlog:\n  json: true\n"},
    {"NewKeyAfterATextOverTwoLines",
     "semantic:\n  prompt: a\n    b\nlog:\n  json: true\n",
     {"semantic.batch_tokens", "4096"},
     "semantic:\n  prompt: a\n    b\n  batch_tokens: 4096\nlog:\n  json: true\n"},
    {"NewKeyWithoutAFinalLineEnd",
     "semantic:\r\n  model: m",
     {"semantic.batch_tokens", "4096"},
     "semantic:\r\n  model: m\r\n  batch_tokens: 4096"},
    {"NewSections",
     "semantic:\n    model: m\ndata:\n    splits:\n        train: {tc: a.txt}\n",
     {"data.streams.tc.batch_size", "auto"},
     "semantic:\n    model: m\ndata:\n    splits:\n        train: {tc: a.txt}\n    streams:\n"
     "        tc:\n            batch_size: auto\n"},
    {"NewSectionsInBrackets",
     "data: {splits: {train: {tc: a.txt}}}\n",
     {"data.streams.tc.batch_size", "4"},
     "data: {splits: {train: {tc: a.txt}}, streams: {tc: {batch_size: 4}}}\n"},
    {"NewKeyAfterAList",
     "output:\n  combine:\n  - tc\n  - commit # two\nsemantic:\n  model: m\n",
     {"output.file", "o.npy"},
     "output:\n  combine:\n  - tc\n  - commit # two\n  file: o.npy\nsemantic:\n  model: m\n"},
    {"NewKeyBesideAnEndOfTheDocument",
     "---\nlog:\n  json: true\n...\n",
     {"log.level", "debug"},
     "---\nlog:\n  json: true\n  level: debug\n...\n"},
    {"EmptyFile", "", {"semantic.batch_tokens", "4096"}, "semantic:\n  batch_tokens: 4096\n"},
    {"OnlyAComment",
     "# nothing yet",
     {"semantic.batch_tokens", "4096"},
     "# nothing yet\nsemantic:\n  batch_tokens: 4096"},
};

class EditCase : public TestWithParam<Case> {};

TEST_P(EditCase, ChangesOneValueAndNothingElse) {
  EXPECT_EQ(edited(GetParam().before, GetParam().edit), GetParam().after);
}

INSTANTIATE_TEST_SUITE_P(Forms, EditCase, ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

struct Refused {
  const char* name;
  std::string yaml;
  ConfigEdit edit;
  const char* code;
  std::string where;
};
std::ostream& operator<<(std::ostream& out, const Refused& test) { return out << test.name; }

const ConfigEdit tokens = {"semantic.batch_tokens", "4096"};

const std::vector<Refused> refusals = {
    {"Anchor", "semantic: &a {batch_tokens: 1}\n", tokens, "config.syntax", "run.yaml:1:11"},
    {"Alias", "semantic: {batch_size: &a 1, batch_tokens: *a}\n", tokens, "config.syntax", ":1:"},
    {"Tag", "semantic:\n  batch_tokens: !!int 1\n", tokens, "config.syntax", "run.yaml:2:17"},
    {"MergeKey", "semantic:\n  <<: {batch_size: 1}\n", tokens, "config.syntax", "run.yaml:2:3"},
    {"TwoDocuments", "semantic: {model: m}\n---\nlog: {json: true}\n", tokens, "config.syntax",
     ":2:1"},
    {"UnknownKeyInTheFile", "semantics: {model: m}\n", tokens, "config.key", "run.yaml:1:1"},
    {"TextInABlock",
     "semantic:\n  model: >-\n    m\n",
     {"semantic.model", "n"},
     "config.edit",
     "run.yaml:2:3"},
    {"PlainTextOverTwoLines",
     "semantic:\n  model: a\n    b\n",
     {"semantic.model", "n"},
     "config.edit",
     "run.yaml:2:3"},
    {"ShortFormOfAStream",
     "data:\n  splits:\n    train:\n      tc: a.txt\n",
     {"data.splits.train.tc.batch_size", "4"},
     "config.edit",
     "run.yaml:4:7"},
    {"KeyWithAQuestionMark",
     "semantic:\n  ? max_length\n  : 1\n",
     {"semantic.model", "m"},
     "config.edit",
     "run.yaml:2:5"},
    {"ValueThatEndsTheBrackets",
     "semantic: {model: m}\n",
     {"semantic.model", "a, b"},
     "config.edit",
     "run.yaml:1:12"},
    {"UnknownKey", "", {"semantic.batch_token", "1"}, "config.key", "semantic.batch_token"},
    {"Section", "", {"semantic", "1"}, "config.key", "semantic"},
    {"BadName", "", {"data.streams.-.batch_size", "1"}, "config.key", "data.streams"},
    {"WrongType", "", {"semantic.batch_tokens", "many"}, "config.type", "semantic.batch_tokens"},
    {"OutOfRange", "", {"semantic.batch_tokens", "-1"}, "config.value", "semantic.batch_tokens"},
    {"ValueWithAComment", "", {"semantic.model", "m # c"}, "config.value", "semantic.model"},
    {"ValueOverTwoLines", "", {"semantic.model", "\"a\n b\""}, "config.value", "semantic.model"},
    {"ValueThatIsAMap", "", {"semantic.model", "{a: 1}"}, "config.value", "semantic.model"},
    {"EmptyValue", "", {"semantic.model", ""}, "config.value", "semantic.model"},
};

class EditRefused : public TestWithParam<Refused> {};

TEST_P(EditRefused, NamesThePlace) {
  const testing::TempDir dir;
  const std::string path = dir.write("run.yaml", GetParam().yaml);
  try {
    const std::string text = edit_config(path, std::vector{GetParam().edit}).new_text;
    ADD_FAILURE() << "accepted:\n" << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), GetParam().code) << error.what();
    EXPECT_THAT(error.detail().where, HasSubstr(GetParam().where)) << error.what();
    EXPECT_NE(error.detail().expected + error.detail().found, "");
    EXPECT_NE(error.detail().hint, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, EditRefused, ValuesIn(refusals),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(EditConfig, MakesSeveralEditsOneAfterTheOther) {
  const testing::TempDir dir;
  const std::string path = dir.write("run.yaml", "semantic:\n  batch_size: 32\n");
  const std::vector<ConfigEdit> edits = {{"semantic.batch_size", "auto"},
                                         {"data.streams.tc.batch_size", "1"},
                                         {"data.streams.commit.batch_size", "2"},
                                         {"data.streams.tc.batch_size", "3"}};
  EXPECT_EQ(edit_config(path, edits).new_text,
            "semantic:\n  batch_size: auto\ndata:\n  streams:\n    tc:\n      batch_size: 3\n"
            "    commit:\n      batch_size: 2\n");
}

TEST(EditConfig, ShowsTheDifference) {
  const testing::TempDir dir;
  const std::string path = dir.write(
      "run.yaml", "# a\nsemantic:\n  model: m\n  batch_size: 32 # \x7f\n\nlog:\n  json: true\n");
  const EditedConfig edit = edit_config(
      path, std::vector<ConfigEdit>{{"semantic.batch_size", "8"}, {"log.progress", "false"}});
  EXPECT_EQ(edit.file, path);
  EXPECT_EQ(edit.diff, "--- " + path + "\n+++ " + path +
                           " (new)\n@@ -1,7 +1,8 @@\n # a\n semantic:\n   model: m\n"
                           "-  batch_size: 32 # \\x7f\n+  batch_size: 8 # \\x7f\n \n log:\n"
                           "   json: true\n+  progress: false\n");
}

TEST(LineDiff, SaysNothingOfEqualTexts) { EXPECT_EQ(unified_diff("a\n", "a\n", "f"), ""); }

TEST(LineDiff, ShowsAMissingLineEnd) {
  EXPECT_EQ(unified_diff("a\r\nb", "a\r\nb\n", "f"),
            "--- f\n+++ f (new)\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
  EXPECT_EQ(unified_diff("", "a\n", "f"), "--- f\n+++ f (new)\n@@ -0,0 +1 @@\n+a\n");
}

TEST(LineDiff, ShowsPlacesThatAreFarApartInTheirOwnHunks) {
  std::string before;
  for (int line = 1; line <= 20; ++line) before += std::to_string(line) + "\n";
  std::string after = before;
  after.replace(after.find("2\n"), 1, "two");
  after.replace(after.find("19\n"), 3, "");
  EXPECT_EQ(unified_diff(before, after, "f"),
            "--- f\n+++ f (new)\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n"
            "@@ -16,5 +16,4 @@\n 16\n 17\n 18\n-19\n 20\n");
}

}  // namespace
}  // namespace encode
