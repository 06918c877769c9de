// Tests `encode status` and `encode report` for an output, without a config.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>

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
using ::testing::StartsWith;

TEST_F(StatusOfAnOutput, IsTheStatusOfItsRun) {
  ASSERT_EQ(run().exit_code, 0);
  const Json found = status(own());
  EXPECT_EQ(found["state"], "done");
  ASSERT_EQ(found["streams"].size(), 1U);
  EXPECT_EQ(found["streams"][0]["stream"], "own");
  EXPECT_EQ(found["streams"][0]["state"], "done");
  EXPECT_EQ(found["streams"][0]["rows_done"], 3);
}

// The directory does not have the matrix, which lies beside it.
TEST_F(StatusOfAnOutput, IsTheSameForItsCacheDirectory) {
  ASSERT_EQ(run({"--keep-chunks"}).exit_code, 0);
  const Json found = status(own());
  ASSERT_NE(found["cache_dir"], "");
  EXPECT_EQ(status(found["cache_dir"]), found);
  ASSERT_EQ(run({"--keep-chunks"}).exit_code, 0) << "nothing is left to do";
  EXPECT_EQ(status(found["cache_dir"].get<std::string>() + "/")["streams"], found["streams"]);
}

TEST_F(StatusOfAnOutput, IsKnownBeforeTheOutputIsThere) {
  const ProgramEnd end = Program(dir_.path(),
                                 {"run", "--model", test_data("models/bert"), "--input",
                                  dir_.file("texts.jsonl"), "--field", "text", "--output", own()},
                                 {{"FAKE_WORKER", "69:0:9"}})
                             .wait();
  ASSERT_EQ(end.exit_code, 69) << end.err;
  ASSERT_FALSE(fs::exists(own()));
  EXPECT_EQ(status(own())["state"], "failed");
  EXPECT_EQ(status(own())["streams"][0]["rows"], 3);
}

// The worker holds the lock a moment longer than the run that was killed.
TEST_F(StatusOfAnOutput, SaysAtOnceThatARunWasKilledAndGivesTheCommandThatGoesOn) {
  write_many_texts();
  Program program(dir_.path(), run_words(dir_.file("texts.jsonl")), slow());
  ASSERT_TRUE(committed());
  program.signal(SIGKILL);
  ASSERT_EQ(program.wait().signal, SIGKILL);
  const Json found = status(own());
  EXPECT_EQ(found["state"], "died");
  const std::string next = found["next"];
  ASSERT_THAT(next, StartsWith("Continue the run: encode run --model "));
  EXPECT_EQ(in_shell(next.substr(next.find("encode run"))), 0);
  EXPECT_EQ(status(own())["state"], "done");
}

// The same command would be refused, because the chunks were made of the old content.
TEST_F(StatusOfAnOutput, AStoppedRunSaysThatItsInputHasChangedMeanwhile) {
  write_many_texts();
  const std::string texts = dir_.file("texts.jsonl");
  const std::string old_content = read_bytes(texts);
  Program program(dir_.path(), run_words(texts), slow());
  ASSERT_TRUE(committed());
  dir_.write("texts.jsonl", old_content + "{\"text\":\"a new row\"}\n");
  program.signal(SIGINT);
  const ProgramEnd end = program.wait();
  ASSERT_EQ(end.signal, SIGINT) << end.err;
  EXPECT_THAT(end.err,
              HasSubstr(texts + " was changed after the run had begun: --fresh starts "
                                "over with the new content, and when the old content is "
                                "back, the same command continues from there: encode run"));
  const ProgramEnd refused = run();
  EXPECT_EQ(refused.exit_code, 78);
  EXPECT_THAT(refused.err, HasSubstr("another input"));
  dir_.write("texts.jsonl", old_content);
  EXPECT_EQ(run().exit_code, 0);
}

// The texts that were piped are gone, so the command reads the copy that the run has made.
TEST_F(StatusOfAnOutput, OfARunOfStandardInputNamesTheCopyAndReadsItAgain) {
  write_many_texts();
  const std::string texts = dir_.file("texts.jsonl");
  {
    Program program(dir_.path(), run_words("-"), slow(),
                    [&] { ::dup2(::open(texts.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO); });
    ASSERT_TRUE(committed());
    program.signal(SIGTERM);
    const ProgramEnd end = program.wait();
    ASSERT_EQ(end.signal, SIGTERM) << end.err;
    EXPECT_THAT(end.err, HasSubstr("rows are saved"));
    EXPECT_THAT(end.err, HasSubstr("the same command continues from there: encode run --model "));
  }
  fs::remove(texts);
  const std::string copy = dir_.file(".own.npy.cache/own.stdin");
  EXPECT_EQ(status(own())["input_copy"], copy);
  const std::string next = status(own())["next"];
  ASSERT_THAT(next, EndsWith(" < " + copy));
  EXPECT_EQ(in_shell(next.substr(next.find("encode run"))), 0);
  EXPECT_EQ(status(own())["state"], "done");
  EXPECT_THAT(encode({"status", own()}).out, HasSubstr(copy)) << "it is all that is left";
}

TEST_F(StatusOfAnOutput, IsKnownFromTheManifestAloneWhenTheRecordIsGone) {
  ASSERT_EQ(run().exit_code, 0);
  ASSERT_FALSE(fs::exists(dir_.file(".own.npy.cache")));
  ASSERT_TRUE(fs::remove(dir_.file(".own.npy.run.json")));
  EXPECT_EQ(status(own())["state"], "done");
  EXPECT_EQ(status(own())["streams"][0]["rows"], 3);
  EXPECT_THAT(encode({"status", own()}).out, HasSubstr("Nothing is left to do"));
  fs::resize_file(own(), 130);
  EXPECT_EQ(status(own())["streams"][0]["state"], "unreadable");
  EXPECT_NE(status(own())["state"], "done");
}

TEST_F(StatusOfAnOutput, OfAFinalInACacheDirectoryShowsTheWholeRun) {
  const std::string cache = dir_.file("cache");
  ASSERT_EQ(encode({"run", "--model", test_data("models/bert"), "--input", dir_.file("texts.jsonl"),
                    "--field", "text", "--cache-dir", cache})
                .exit_code,
            0);
  std::string matrix;
  for (const auto& entry : fs::directory_iterator(cache)) {
    if (entry.path().extension() == ".npy") matrix = entry.path().string();
  }
  ASSERT_NE(matrix, "");
  EXPECT_EQ(status(matrix), status(cache));
}

// A matrix that another program wrote has no manifest.
TEST_F(StatusOfAnOutput, RefusesAFileThatNoRunHasMade) {
  dir_.write("foreign.npy", "numbers");
  for (const char* name : {"foreign.npy", "absent.npy"}) {
    const ProgramEnd end = encode({"status", dir_.file(name)});
    EXPECT_EQ(end.exit_code, 66);
    EXPECT_THAT(end.err, HasSubstr("status.output"));
    EXPECT_EQ(encode({"report", dir_.file(name)}).exit_code, 66);
  }
}

TEST_F(StatusOfAnOutput, ReportNeedsNoConfig) {
  ASSERT_EQ(run().exit_code, 0);
  const Json report = page({"report", own()});
  EXPECT_EQ(report["problems"], Json::array());
  ASSERT_EQ(report["streams"].size(), 1U);
  EXPECT_EQ(report["streams"][0]["final"]["vectors"], 3);
  EXPECT_EQ(report["streams"][0]["model"], fs::canonical(test_data("models/bert")).string());
  EXPECT_EQ(report["map"]["streams"][0]["points"][0]["text"], "a")
      << "the manifest names the texts";
  EXPECT_EQ(report["run"]["state"], "done");
  EXPECT_THAT(report["config"].get<std::string>(), HasSubstr("max_length"));
}

// The job in the directory is from the last run, which has made another matrix.
TEST_F(StatusOfAnOutput, ReportFindsTheModelOfEachMatrixInACacheDirectory) {
  const std::string cache = dir_.file("cache");
  dir_.write("more.jsonl", "{\"text\":\"d\"}\n");
  for (const char* const name : {"texts.jsonl", "more.jsonl"}) {
    ASSERT_EQ(encode({"run", "--model", test_data("models/bert"), "--input", dir_.file(name),
                      "--field", "text", "--cache-dir", cache})
                  .exit_code,
              0);
  }
  int matrices = 0;
  for (const auto& entry : fs::directory_iterator(cache)) {
    if (entry.path().extension() != ".npy") continue;
    ++matrices;
    const Json report = page({"report", entry.path().string()});
    EXPECT_EQ(report["streams"][0]["model"], fs::canonical(test_data("models/bert")).string());
  }
  EXPECT_EQ(matrices, 2);
}

TEST_F(StatusOfAnOutput, ReportNeedsNoRecord) {
  ASSERT_EQ(run().exit_code, 0);
  ASSERT_TRUE(fs::remove(dir_.file(".own.npy.run.json")));
  const Json report = page({"report", own(), "--model", test_data("models/bert")});
  EXPECT_EQ(report["problems"], Json::array());
  EXPECT_EQ(report["map"]["streams"][0]["points"][2]["text"], "c");
  EXPECT_EQ(report["streams"][0]["model"], test_data("models/bert"));
}

TEST_F(StatusOfAnOutput, ReportOfAnUnfinishedRunShowsHowFarItIs) {
  write_many_texts();
  Program program(dir_.path(), run_words(dir_.file("texts.jsonl")), slow());
  ASSERT_TRUE(committed());
  program.signal(SIGINT);
  ASSERT_EQ(program.wait().signal, SIGINT);
  ASSERT_FALSE(fs::exists(own()));
  const Json report = page({"report", own()});
  EXPECT_EQ(report["problems"], Json::array());
  EXPECT_EQ(report["run"]["state"], "stopped");
  ASSERT_EQ(report["streams"].size(), 1U);
  EXPECT_EQ(report["streams"][0]["name"], "own");
  EXPECT_EQ(report["streams"][0]["rows"], 400);
  EXPECT_GT(report["streams"][0]["rows_done"], 0);
  EXPECT_EQ(report["streams"][0]["model"], fs::canonical(test_data("models/bert")).string());
  EXPECT_THAT(report["missing"].dump(), HasSubstr("own: no finished matrix"));
  EXPECT_THAT(report["config"].get<std::string>(), HasSubstr("max_length"));
}

// The run has ended before its job was written, so only its status is known.
TEST_F(StatusOfAnOutput, ReportOfARunThatHasOnlyBegunShowsItsState) {
  ASSERT_EQ(run({"--keep-chunks"}).exit_code, 0);
  fs::remove(own() + ".manifest.json");
  for (const char* const gone : {"job.json", "own_chunks"})
    ASSERT_GT(fs::remove_all(dir_.file(std::string(".own.npy.cache/") + gone)), 0U);
  const Json report = page({"report", own()});
  EXPECT_EQ(report["streams"], Json::array());
  EXPECT_EQ(report["run"]["state"], "done");
}

TEST_F(StatusOfAnOutput, ReportRefusesACombinedMatrix) {
  const std::string texts = dir_.file("texts.jsonl");
  const std::string config = dir_.write(
      "c.yaml", "semantic: {model: " + std::string(test_data("models/bert")) +
                    ", cache_dir: " + dir_.file("cache") +
                    ", combine: true}\nhardware: {device: cpu}\n"
                    "data: {streams: {a: {field: text}, b: {field: text}}, splits: {s: {a: " +
                    texts + ", b: " + texts + "}}}\n");
  const ProgramEnd made = encode({"run", "--config", config});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const ProgramEnd end = encode({"report", dir_.file("cache/s_combined_embeddings.npy")});
  EXPECT_EQ(end.exit_code, 64) << end.err;
  EXPECT_THAT(end.err, HasSubstr("report.combined"));
}

TEST_F(StatusOfAnOutput, ReportNeedsARun) {
  EXPECT_THAT(encode({"report"}).err, HasSubstr("the output of a run, or --config FILE"));
  EXPECT_EQ(encode({"report"}).exit_code, 64);
}

}  // namespace
}  // namespace encode::testing
