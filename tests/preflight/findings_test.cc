#include "preflight/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace encode {
namespace {

using ::testing::HasSubstr;

ErrorDetail error(ExitCode code, const std::string& where = "here") {
  return {.code = "io.read",
          .exit_code = code,
          .what = "it is broken",
          .where = where,
          .expected = "",
          .found = "",
          .hint = "mend it"};
}

TEST(PreflightFindings, ExitWithTheErrorThatARunMeetsFirst) {
  PreflightFindings findings;
  findings.green("a", "good");
  findings.yellow("b", "slow", "wait");
  EXPECT_EQ(findings.exit_code(), ExitCode::kOk);
  findings.at(RunStep::kModels);
  findings.red("d", error(ExitCode::kConfig, "there"));
  findings.red("e", error(ExitCode::kData, "elsewhere"));
  EXPECT_EQ(findings.exit_code(), ExitCode::kConfig);
  findings.at(RunStep::kCache);
  findings.red("c", error(ExitCode::kTempFail));
  EXPECT_EQ(findings.exit_code(), ExitCode::kTempFail);
}

TEST(PreflightFindings, WhatARunDoesNotNeedIsYellow) {
  PreflightFindings findings;
  findings.at(RunStep::kModels);
  findings.red("model", error(ExitCode::kConfig, "there"));
  findings.at(RunStep::kWorker);
  findings.red("worker", error(ExitCode::kData));
  findings.forgive(RunStep::kWriting, "not needed");
  EXPECT_EQ(findings.count(Grade::kRed), 1);
  EXPECT_EQ(findings.exit_code(), ExitCode::kConfig);
  EXPECT_EQ(findings.all().back().found, "not needed: [io.read] it is broken: here");
}

TEST(PreflightFindings, ShowTheSameErrorOnce) {
  PreflightFindings findings;
  for (const char* check : {"stream a", "stream b"})
    findings.guard(check, [] { throw Error(error(ExitCode::kData)); });
  EXPECT_EQ(findings.count(Grade::kRed), 1);
}

TEST(PreflightFindings, EachColouredLineHasANextStep) {
  PreflightFindings findings;
  findings.yellow("b", "slow", "wait");
  findings.red("c", error(ExitCode::kData));
  const std::string text = render_text(findings, 1.25, /*verbose=*/true);
  EXPECT_EQ(text,
            "yellow  b                 slow\n"
            "                          next: wait\n"
            "red     c                 [io.read] it is broken: here\n"
            "                          next: mend it\n"
            "preflight: 0 green, 1 yellow, 1 red in 1.25 s\n");
}

// What a user has to mend must not scroll away above what works.
TEST(PreflightFindings, ShowProblemsLastAndWhatWorksOnlyOnRequest) {
  PreflightFindings findings;
  findings.red("c", error(ExitCode::kData));
  findings.green("a", "good");
  findings.yellow("b", "slow", "wait");
  const std::string problems =
      "yellow  b                 slow\n"
      "                          next: wait\n"
      "red     c                 [io.read] it is broken: here\n"
      "                          next: mend it\n"
      "preflight: 1 green, 1 yellow, 1 red in 1.25 s";
  EXPECT_EQ(render_text(findings, 1.25, /*verbose=*/false),
            problems + "; --verbose shows the green lines\n");
  EXPECT_EQ(render_text(findings, 1.25, /*verbose=*/true),
            "green   a                 good\n" + problems + "\n");
  EXPECT_EQ(Json::parse(render_json(findings, 0))["findings"].size(), 3U);
}

TEST(PreflightFindings, AreWrappedInATerminal) {
  PreflightFindings findings;
  findings.green("tokenizer", "one two three four five six seven eight nine ten");
  findings.yellow("prompt of_a_long_name", "eins\nzwei drei vier fünf sechs sieben acht neun",
                  "/a/path/that/is/longer/than/the/line/and/stays/whole");
  EXPECT_EQ(render_text(findings, 1.25, /*verbose=*/true, 60),
            "green   tokenizer         one two three four five six seven\n"
            "                          eight nine ten\n"
            "yellow  prompt of_a_long_name  eins\n"
            "                          zwei drei vier fünf sechs sieben\n"
            "                          acht neun\n"
            "                          next:\n"
            "                          /a/path/that/is/longer/than/the/line/and/stays/whole\n"
            "preflight: 1 green, 1 yellow, 0 red in 1.25 s\n");
  const std::string narrow = render_text(findings, 1.25, /*verbose=*/true, 40);
  EXPECT_EQ(narrow, render_text(findings, 1.25, /*verbose=*/true)) << "there is no room to wrap";
}

TEST(PreflightFindings, AreAddedWithoutErrorsThatAreThereAlready) {
  PreflightFindings findings;
  findings.red("a", error(ExitCode::kData));
  PreflightFindings more;
  more.red("b", error(ExitCode::kData));
  more.green("c", "good");
  findings.add(more);
  EXPECT_EQ(findings.count(Grade::kRed), 1);
  EXPECT_EQ(findings.count(Grade::kGreen), 1);
}

TEST(PreflightFindings, TextOfFilesCannotHarmATerminal) {
  PreflightFindings findings;
  findings.yellow("b\x1b[2J", "a\x1b]0;title", "\u202e");
  const std::string text = render_text(findings, 0, /*verbose=*/true);
  const std::string json = render_json(findings, 0);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(json.find('\x1b'), std::string::npos);
  EXPECT_FALSE(Json::parse(json, nullptr, /*allow_exceptions=*/false).is_discarded());
}

}  // namespace
}  // namespace encode
