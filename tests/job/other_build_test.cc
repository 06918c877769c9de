// Starts the real worker on the job of a run, and on jobs of another build.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "real_run.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;

// A run whose chunks were deleted, so that its job is to be done again.
class OtherBuild : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string cache = runs_.dir().file("cache");
    const ProgramEnd end =
        runs_.run("out", {"--cache-dir", cache, "--keep-chunks", "--chunk-size", "10"});
    ASSERT_EQ(end.exit_code, 0) << end.err;
    job_ = Json::parse(read_bytes(cache + "/job.json"));
    chunks_ =
        fmt::format("{}/{}_chunks", cache, job_["units"][0]["identity"]["name"].get<std::string>());
    for (const auto& entry : fs::directory_iterator(chunks_)) {
      if (entry.path().filename().string().starts_with("chunk_")) fs::remove(entry);
    }
    write_bytes(chunks_ + "/chunks.log", "");
  }

  // Returns the exit code of the worker. Its events are in `events_`.
  int do_job() {
    const std::string job = runs_.dir().write("job.json", job_.dump());
    const std::string events = runs_.dir().file("events");
    const int status = std::system(fmt::format("'{}' --job '{}' --events 3 3>'{}'",
                                               built_file(FAKE_WORKER_PROGRAM), job, events)
                                       .c_str());
    std::istringstream lines(read_bytes(events));
    events_.clear();
    for (std::string line; std::getline(lines, line);) events_.push_back(Json::parse(line));
    return WEXITSTATUS(status);
  }
  bool has_chunks() const { return fs::exists(chunks_ + "/chunk_0000.npy"); }

  void expect_refused() {
    EXPECT_EQ(do_job(), 78);
    ASSERT_EQ(events_.size(), 2U);
    EXPECT_EQ(events_[0]["kind"], "greeting");
    EXPECT_EQ(events_[1]["error"]["code"], "job.protocol");
    EXPECT_FALSE(has_chunks());
  }

  RealRun runs_{"bert", 30};
  Json job_;
  std::string chunks_;
  std::vector<Json> events_;
};

TEST_F(OtherBuild, TheWorkerDoesTheJobOfItsOwnBuild) {
  EXPECT_EQ(do_job(), 0);
  EXPECT_EQ(events_.front()["kind"], "greeting");
  EXPECT_EQ(events_.front()["protocol"], job_["protocol"]);
  EXPECT_EQ(events_.back()["kind"], "finished");
  EXPECT_TRUE(has_chunks());
}

TEST_F(OtherBuild, ItsJobIsRefusedBeforeAModelIsLoaded) {
  job_["protocol"] = "0.0.1 of another build";
  expect_refused();
  job_.erase("protocol");  // as older builds wrote it
  expect_refused();
}

// Another version may compute other bits for the same fields.
TEST_F(OtherBuild, AFingerprintOfAnotherVersionIsRefusedBeforeAModelIsLoaded) {
  Json& text = job_["units"][0]["identity"]["fingerprint"];
  Json fingerprint = Json::parse(text.get<std::string>());
  fingerprint["format"] = fingerprint["format"].get<int>() + 1;
  text = fingerprint.dump();
  expect_refused();
}

}  // namespace
}  // namespace encode::testing
