// Tests `encode status` and `encode report` for an output, without a config.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class StatusOfAnOutput : public ::testing::Test {
 protected:
  StatusOfAnOutput() {
    dir_.write("texts.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n{\"text\":\"c\"}\n");
    dir_.write("records/.keep", "");
  }

  ProgramEnd encode(const std::vector<std::string>& arguments) const {
    // A finished run does not remove a directory with files of the fake worker.
    return Program(dir_.path(), arguments, {{"FAKE_WORKER_RECORDS", dir_.file("records")}}).wait();
  }
  std::vector<std::string> run_words(const std::string& input) const {
    return {"run",      "--model",  test_data("models/bert"),
            "--input",  input,      "--field",
            "text",     "--format", "jsonl",
            "--output", own(),      "--chunk-size",
            "20"};
  }
  // 400 rows take two seconds in a slow run: a batch of four rows takes 20 ms.
  void write_many_texts() const {
    std::string rows;
    for (int row = 0; row < 400; ++row) rows += "{\"text\":\"row " + std::to_string(row) + "\"}\n";
    dir_.write("texts.jsonl", rows);
  }
  Program::Environment slow() const {
    return {{"FAKE_WORKER_RECORDS", dir_.file("records")}, {"FAKE_WORKER_SLOW_MS", "20"}};
  }
  // Waits for the first chunk.
  bool committed() const {
    for (int i = 0; i < 4000; ++i) {
      if (fs::exists(dir_.file("records/encoded_chunks"))) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  // Runs a command that `encode` has printed. Returns the exit status.
  int in_shell(const std::string& command) const {
    const std::string line = "encode() { ENCODE_WORKER='" + built_file(FAKE_WORKER_PROGRAM) +
                             "' FAKE_WORKER_RECORDS='" + dir_.file("records") + "' '" +
                             built_file(ENCODE_PROGRAM) + "' \"$@\"; }\n" + command + " 2> '" +
                             dir_.file("shell.err") + "' > '" + dir_.file("shell.out") + "'\n";
    return std::system(("bash '" + dir_.write("line.sh", line) + "'").c_str());
  }
  ProgramEnd run(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = run_words(dir_.file("texts.jsonl"));
    arguments.insert(arguments.end(), more.begin(), more.end());
    return encode(arguments);
  }
  Json status(const std::string& path) const {
    const ProgramEnd end = encode({"status", path, "--json"});
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.exit_code == 0 ? Json::parse(end.out) : Json();
  }
  std::string own() const { return dir_.file("own.npy"); }

  // Returns the data of the page that a command has written.
  Json page(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--output", dir_.file("r.html")});
    const ProgramEnd end = encode(arguments);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    const std::string text = read_bytes(dir_.file("r.html"));
    const std::string open = "<script id=\"data\" type=\"application/json\">";
    const size_t begin = text.find(open) + open.size();
    return Json::parse(text.substr(begin, text.find("</script", begin) - begin));
  }

  TempDir dir_;
};

TEST_F(StatusOfAnOutput, IsThatOfItsRun) {
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

TEST_F(StatusOfAnOutput, IsThatOfTheUsualDirectoryIfNothingIsNamed) {
  const auto here = [this](std::vector<std::string> words) {
    return Program(dir_.path(), std::move(words), {{"FAKE_WORKER_RECORDS", dir_.file("records")}},
                   [this] { EXPECT_EQ(::chdir(dir_.path().c_str()), 0); })
        .wait();
  };
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

TEST_F(StatusOfAnOutput, ReportNeedsNoRecord) {
  ASSERT_EQ(run().exit_code, 0);
  ASSERT_TRUE(fs::remove(dir_.file(".own.npy.run.json")));
  const Json report = page({"report", own(), "--model", test_data("models/bert")});
  EXPECT_EQ(report["problems"], Json::array());
  EXPECT_EQ(report["map"]["streams"][0]["points"][2]["text"], "c");
  EXPECT_EQ(report["streams"][0]["model"], test_data("models/bert"));
}

TEST_F(StatusOfAnOutput, ReportSaysThatAMatrixIsNotFinished) {
  ASSERT_EQ(run({"--keep-chunks"}).exit_code, 0);
  fs::remove(own() + ".manifest.json");
  const ProgramEnd end = encode({"report", own()});
  EXPECT_EQ(end.exit_code, 66);
  EXPECT_THAT(end.err, HasSubstr("report.unfinished"));
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
