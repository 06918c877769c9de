// The fixture of the tests that look at a run by its output, with the fake worker.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {

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
  // Runs a command in the directory of the test.
  ProgramEnd here(const std::vector<std::string>& words) const {
    return Program(dir_.path(), words, {{"FAKE_WORKER_RECORDS", dir_.file("records")}},
                   [this] { EXPECT_EQ(::chdir(dir_.path().c_str()), 0); })
        .wait();
  }
  std::vector<std::string> run_words(const std::string& input) const {
    return testing::run_words(input, own(), {"--format", "jsonl", "--chunk-size", "20"});
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
      if (std::filesystem::exists(dir_.file("records/encoded_chunks"))) return true;
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
  ProgramEnd encode_with_misdeed(const std::string& misdeed) const {
    return Program(dir_.path(), run_words(dir_.file("texts.jsonl")),
                   {{"FAKE_WORKER_RECORDS", dir_.file("records")}, {"FAKE_WORKER", misdeed}})
        .wait();
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

}  // namespace encode::testing
