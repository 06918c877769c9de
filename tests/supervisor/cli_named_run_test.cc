// Tests which run or which matrices `encode status` and `encode verify` take: those that a path or
// the flags name, or else those in the current directory.
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "supervisor/output_status.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class NamedRun : public StatusOfAnOutput {};

TEST_F(NamedRun, IsTheRunInTheUsualDirectoryIfNothingIsNamed) {
  const ProgramEnd none = here({"status"});
  EXPECT_EQ(none.exit_code, 64);
  EXPECT_THAT(none.err, HasSubstr("no run in cache/embeddings"));
  ASSERT_EQ(here({"run", "--model", test_data("models/bert"), "--input", dir_.file("texts.jsonl"),
                  "--field", "text"})
                .exit_code,
            0);
  const ProgramEnd end = here({"status", "--json"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(Json::parse(end.out)["cache_dir"], "cache/embeddings");
  EXPECT_EQ(Json::parse(end.out)["newer_runs"], Json::array());
}

// A user who names no run probably means the run that still goes on.
TEST_F(NamedRun, NamesTheRunThatGoesOnBesideTheUsualDirectory) {
  ASSERT_EQ(here({"run", "--model", test_data("models/bert"), "--input", dir_.file("texts.jsonl"),
                  "--field", "text"})
                .exit_code,
            0);
  ASSERT_THAT(here({"status"}).out, Not(HasSubstr("no run is named")));
  fs::remove(dir_.file("records/encoded_chunks"));
  write_many_texts();
  const TempDir elsewhere;  // two programs cannot write their output to the same directory
  Program program(elsewhere.path(), run_words(dir_.file("texts.jsonl")), slow());
  ASSERT_TRUE(committed());
  const ProgramEnd text = here({"status"});
  EXPECT_THAT(text.out, StartsWith("note      no run is named, so this is the one in "
                                   "cache/embeddings; newer here: own.npy (running)\n"
                                   "          encode status own.npy shows the latest\n"));
  const Json found = Json::parse(here({"status", "--json"}).out);
  EXPECT_EQ(found["state"], "done");
  ASSERT_EQ(found["newer_runs"].size(), 1U);
  EXPECT_EQ(found["newer_runs"][0]["path"], "own.npy");
  EXPECT_EQ(found["newer_runs"][0]["state"], "running");
  program.signal(SIGKILL);
  program.wait();
}

TEST_F(NamedRun, IsInTheCurrentDirectoryIfTheUsualDirectoryHasNoRun) {
  ASSERT_EQ(run().exit_code, 0);
  const ProgramEnd one = here({"status", "--json"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(Json::parse(one.out)["streams"][0]["stream"], "own");
  std::vector<std::string> words = run_words(dir_.file("texts.jsonl"));
  *(std::find(words.begin(), words.end(), "--output") + 1) = dir_.file("more.npy");
  ASSERT_EQ(encode(words).exit_code, 0);
  const ProgramEnd two = here({"status"});
  EXPECT_THAT(two.out, HasSubstr("own.npy"));
  EXPECT_THAT(two.out, HasSubstr("more.npy"));
}

// --output and --cache-dir name a run. A flag that names no run, such as --pooling, is refused.
TEST_F(NamedRun, IsTheRunThatTheFlagsName) {
  const auto run_here = [&](const std::string& input, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "run", "--model", test_data("models/bert"), "--input", input, "--field", "text"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(here(words).exit_code, 0);
  };
  const std::string texts = dir_.file("texts.jsonl");
  run_here(texts, {});  // in cache/embeddings
  run_here(texts, {"--output", "own.npy"});
  run_here(texts, {"--cache-dir", "other"});
  run_here(texts, {"--output", "both.npy", "--cache-dir", "third"});
  const auto found = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"status", "--json"});
    const ProgramEnd end = here(flags);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return Json::parse(end.out);
  };
  EXPECT_EQ(found({"--output", "own.npy"}), found({"own.npy"}));
  EXPECT_EQ(found({"--cache-dir", "other"}), found({"other"}));
  EXPECT_EQ(found({"--cache-dir", "other"})["cache_dir"], "other");
  const Json both = found({"--output", "both.npy", "--cache-dir", "third"});
  EXPECT_EQ(both["cache_dir"], "third");
  EXPECT_EQ(both["streams"][0]["state"], "done");
  for (const auto& [verify_flag, value] :
       {std::pair("--output", "own.npy"), {"--cache-dir", "other"}}) {
    const ProgramEnd end = here({"verify", verify_flag, value});
    EXPECT_EQ(end.exit_code, 0) << end.out << end.err;
    EXPECT_THAT(end.out, HasSubstr("ok"));
  }
  for (const char* const command : {"status", "verify"}) {
    EXPECT_EQ(here({command, "--output", "nope.npy"}).exit_code, 66) << command;
    EXPECT_EQ(here({command, "--cache-dir", "nowhere"}).exit_code, 66) << command;
    const ProgramEnd nameless = here({command, "--pooling", "cls"});
    EXPECT_EQ(nameless.exit_code, 64);
    EXPECT_THAT(nameless.err, HasSubstr("only --pooling"));
    const ProgramEnd twice = here({command, "own.npy", "--cache-dir", "other"});
    EXPECT_EQ(twice.exit_code, 64);
    EXPECT_THAT(twice.err, HasSubstr("named twice"));
  }
}

TEST_F(NamedRun, VerifyOfADamagedFileGivesTheCommandThatMakesItAgain) {
  ASSERT_EQ(run().exit_code, 0);
  std::string bytes = read_bytes(own());
  bytes.back() ^= 1;
  write_bytes(own(), bytes);
  const ProgramEnd damaged = encode({"verify", own()});
  EXPECT_EQ(damaged.exit_code, 65);
  const size_t next = damaged.out.find("next    run this again");
  ASSERT_NE(next, std::string::npos) << damaged.out;
  EXPECT_EQ(in_shell(damaged.out.substr(damaged.out.find("encode run", next))), 0);
  const ProgramEnd good = encode({"verify", own()});
  EXPECT_EQ(good.exit_code, 0) << good.out;
  EXPECT_THAT(good.out, Not(HasSubstr("next")));
}

// `encode status` prints a command that a shell can run, and `encode verify` takes a whole folder.
TEST_F(NamedRun, VerifyChecksTheOutputsOfAFolder) {
  fs::create_directory(dir_.file("my out"));
  std::vector<std::string> words = run_words(dir_.file("texts.jsonl"));
  for (const char* const name : {"a.npy", "b.npy"}) {
    *(std::find(words.begin(), words.end(), "--output") + 1) = dir_.file("my out/") + name;
    ASSERT_EQ(encode(words).exit_code, 0);
  }
  const std::string next = status(dir_.file("my out/a.npy"))["next"];
  ASSERT_THAT(next, EndsWith("encode verify '" + dir_.file("my out/a.npy") + "'"));
  EXPECT_EQ(in_shell(next.substr(next.find("encode verify"))), 0);
  const ProgramEnd all = encode({"verify", dir_.file("my out")});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("a.npy"));
  EXPECT_THAT(all.out, HasSubstr("b.npy"));
  fs::resize_file(dir_.file("my out/b.npy"), 130);
  EXPECT_EQ(encode({"verify", dir_.file("my out")}).exit_code, 65);
  fs::remove(dir_.file("my out/b.npy"));
  EXPECT_EQ(encode({"verify", dir_.file("my out")}).exit_code, 66) << "its manifest is there";
  const ProgramEnd none = encode({"verify", dir_.file("records")});
  EXPECT_EQ(none.exit_code, 66);
  EXPECT_THAT(none.err, HasSubstr("no matrix of encode is in this folder"));
}

TEST_F(NamedRun, VerifyOfAFileThatIsMissingIsTheUsualError) {
  const ProgramEnd end = encode({"verify", dir_.file("nope.npy")});
  EXPECT_EQ(end.exit_code, 66);
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(end.err, StartsWith("error[npy.open]: "));
  EXPECT_THAT(end.err, HasSubstr("where     " + dir_.file("nope.npy")));
  const ProgramEnd both =
      encode({"verify", dir_.file("nope.npy"), dir_.file("nope2.npy"), "--json"});
  EXPECT_EQ(both.exit_code, 66);
  EXPECT_EQ(Json::parse(both.out)["exit_code"], 66);
}

TEST_F(NamedRun, VerifyOfAnUnfinishedOutputNamesTheStatus) {
  ASSERT_EQ(encode_with_misdeed("69:0:9").exit_code, 69);
  const ProgramEnd end = encode({"verify", own()});
  EXPECT_EQ(end.exit_code, 66);
  EXPECT_THAT(end.err, HasSubstr("`encode status " + own() + "` says how far it is"));
}

}  // namespace
}  // namespace encode::testing
