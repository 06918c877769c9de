// Fills the disk of a run: the run, `encode status` and the next run must say so. Needs the right
// to mount a file system; without it the test is skipped.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mount.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "supervisor/program.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(disk());
    mounted_ = ::mount("tmpfs", disk().c_str(), "tmpfs", 0, "size=2m") == 0;
    if (!mounted_) GTEST_SKIP() << "a file system cannot be mounted here";
    std::string rows;
    for (int row = 0; row < 400; ++row) rows += "{\"text\":\"row " + std::to_string(row) + "\"}\n";
    dir_.write("texts.jsonl", rows);
    dir_.write("records/.keep", "");
  }
  ~FullDisk() override {
    if (mounted_) ::umount2(disk().c_str(), MNT_DETACH);
  }

  std::string disk() const { return dir_.file("disk"); }
  std::string output() const { return disk() + "/x.npy"; }
  std::vector<std::string> words() const {
    return run_words(dir_.file("texts.jsonl"), output(), {"--chunk-size", "20"});
  }
  Program::Environment environment(const std::string& milliseconds) const {
    return {{"FAKE_WORKER_RECORDS", dir_.file("records")}, {"FAKE_WORKER_SLOW_MS", milliseconds}};
  }
  ProgramEnd encode(const std::vector<std::string>& words) const {
    return Program(dir_.path(), words, environment("0")).wait();
  }
  bool committed() const {
    for (int i = 0; i < 4000; ++i) {
      if (fs::exists(dir_.file("records/encoded_chunks"))) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  void fill() const {
    std::ofstream file(disk() + "/fill", std::ios::binary);
    const std::string block(4096, 'x');
    while (file.write(block.data(), std::ssize(block)).flush()) {
    }
  }

  TempDir dir_;
  bool mounted_ = false;
};

TEST_F(FullDisk, IsNamedByTheRunByItsStatusAndByTheNextRun) {
  Program program(dir_.path(), words(), environment("20"));
  ASSERT_TRUE(committed());
  fill();
  const ProgramEnd end = program.wait();
  EXPECT_EQ(end.exit_code, 74) << end.err;
  EXPECT_THAT(end.err, HasSubstr("0 B are free"));

  const Json status = Json::parse(encode({"status", output(), "--json"}).out);
  EXPECT_EQ(status["state"], "failed") << status;
  EXPECT_THAT(status["error"]["code"].get<std::string>(), StartsWith("io."));
  EXPECT_THAT(status["error"]["what"].get<std::string>(), HasSubstr("No space left on device"));
  EXPECT_THAT(encode({"status", output()}).out, HasSubstr("No space left on device"));

  const ProgramEnd again = encode(words());
  EXPECT_EQ(again.exit_code, 74);
  EXPECT_THAT(again.err, HasSubstr("error[limit.disk]: the disk is full"));
  EXPECT_THAT(again.err, HasSubstr("where     " + disk() + "\n"));
  EXPECT_THAT(again.err, HasSubstr("0 B free"));
  EXPECT_THAT(again.err, Not(HasSubstr(".tmp.")));

  fs::remove(disk() + "/fill");
  EXPECT_EQ(encode(words()).exit_code, 0) << "it goes on";
  EXPECT_EQ(Json::parse(encode({"status", output(), "--json"}).out)["state"], "done");
}

}  // namespace
}  // namespace encode::testing
