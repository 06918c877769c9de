// Tests the key `text`, the template of a text.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loading.h"

namespace encode::testing {
namespace {

TEST(TextKeys, ATemplateReplacesAFieldOfAWiderLayerAndTheOtherWayRound) {
  const std::string yaml =
      "semantic: {model: m}\n"
      "data:\n"
      "  streams: {a: {field: title}, b: {text: '{title}: {/body/main} {{}}'}}\n"
      "  splits: {s: {a: {file: a.jsonl, text: '<{title}>'}, b: b.jsonl}}\n";
  const LoadedConfig loaded = load_text(yaml);
  EXPECT_EQ(loaded.run.streams[0].input.text_template, "<{title}>");
  EXPECT_EQ(loaded.run.streams[0].input.field, "");
  EXPECT_EQ(loaded.run.streams[1].input.text_template, "{title}: {/body/main} {{}}");
  expect_round_trip(loaded);
  const LoadedConfig flagged = load_text(yaml, {{"input.field", "code", "--field"}});
  for (const StreamConfig& stream : flagged.run.streams) {
    EXPECT_EQ(stream.input.field, "code");
    EXPECT_EQ(stream.input.text_template, "");
  }
  expect_round_trip(flagged);
}

// The input may be in the file and the template on the command line, or the other way round.
TEST(TextKeys, ABrokenTemplateIsBlamedOnThePlaceThatGivesIt) {
  const ErrorDetail of_flag =
      refusal("semantic: {model: m}\ninput: {file: a.jsonl}\n", {{"input.text", "{a", "--text"}});
  EXPECT_EQ(of_flag.where, "--text");
  EXPECT_EQ(of_flag.exit_code, ExitCode::kUsage);
  const ErrorDetail of_file = refusal("semantic: {model: m}\ninput:\n  text: '{a'\n",
                                      {{"input.file", "a.jsonl", "--input"}});
  EXPECT_THAT(of_file.where, ::testing::HasSubstr("run.yaml:3:9"));
  EXPECT_EQ(of_file.exit_code, ExitCode::kConfig);
  for (const ErrorDetail& error : {of_flag, of_file}) EXPECT_EQ(error.code.name(), "config.value");
}

TEST(TextKeys, AFieldOfLinesIsBlamedOnThePlaceThatGivesIt) {
  const ErrorDetail error =
      refusal("semantic: {model: m}\ninput: {file: a.txt}\n", {{"input.field", "a", "--field"}});
  EXPECT_EQ(error.where, "--field");
  EXPECT_EQ(error.exit_code, ExitCode::kUsage);
}

TEST(TextKeys, ATemplateGivesARunOfFlagsANameOfItsOwn) {
  const auto name_of = [](const std::string& text) {
    const auto run = load_config("", {{"semantic.model", "m", "-1"},
                                      {"input.file", "a.jsonl", "-2"},
                                      {"input.text", text, "-3"}})
                         .run;
    return run.streams.front().name();
  };
  EXPECT_NE(name_of("{title}: {text}"), name_of("{title}; {text}"));
  EXPECT_EQ(name_of("{title}: {text}"), name_of("{title}: {text}"));
}

}  // namespace
}  // namespace encode::testing
