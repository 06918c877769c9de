// Tests what follows if the server of a network file system does not answer, and what an attempt
// knows of the failures of earlier attempts.
#include "shards/server_lost.h"

#include <cerrno>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "run_plan/shard_plan.h"
#include "shards/sharded.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ServerLost : public ::testing::Test {
 protected:
  ServerLost() {
    experiment_.config.store.chunk_size = 1;
    experiment_.config.hardware.max_restarts = 0;
    EXPECT_FALSE(experiment_.plan(1).code);
  }
  // Returns the error with which a run of the shard ends that has met `error_number`.
  ErrorDetail after(int error_number, const std::string& path = "/shared/x") {
    ErrorDetail detail = system_error("io.read", "read", path, error_number).detail();
    const Shard shard = read_shard(experiment_.cache(""), 0);
    end_after_second_loss(experiment_.config, shard, detail);
    return detail;
  }
  std::string record() const { return ShardFiles(experiment_.cache("")).server_lost(0); }

  Sharded experiment_;
};

TEST_F(ServerLost, TwiceInSuccessionIsNoReasonToGoOn) {
  for (const int number : {ESTALE, ETIMEDOUT, EREMOTEIO}) {
    EXPECT_EQ(after(number).exit_code, ExitCode::kTempFail) << number;
    const ErrorDetail second = after(ESTALE);
    EXPECT_EQ(second.exit_code, ExitCode::kIoError);
    EXPECT_THAT(second.hint, HasSubstr("second such error"));
  }
}

TEST_F(ServerLost, ACommitInBetweenBeginsTheCountAgain) {
  EXPECT_EQ(after(ESTALE).exit_code, ExitCode::kTempFail);
  ASSERT_TRUE(experiment_.run_shard(0, "crash:3:9").code);
  EXPECT_EQ(after(ESTALE).exit_code, ExitCode::kTempFail) << "three chunks are committed";
  EXPECT_EQ(after(ESTALE).exit_code, ExitCode::kIoError);
}

// An NFS client may say ENOENT instead of ESTALE when the server has restored a folder.
TEST_F(ServerLost, AMissingFileOfTheShardCountsAndNoOther) {
  const std::string folder = ShardFiles(experiment_.config.store.cache_dir).shard(0);
  EXPECT_EQ(after(ENOENT).exit_code, ExitCode::kNoInput);
  EXPECT_EQ(after(ENOENT, folder + "1/attempt-1").exit_code, ExitCode::kNoInput);
  EXPECT_FALSE(fs::exists(record()));
  EXPECT_EQ(after(ENOENT, folder + "/attempt-1").exit_code, ExitCode::kTempFail);
  EXPECT_EQ(after(ENOENT, folder + "/attempt-2/LOCK").exit_code, ExitCode::kIoError);
}

TEST_F(ServerLost, OtherErrorsDoNotCount) {
  EXPECT_EQ(after(EIO).exit_code, ExitCode::kIoError);
  EXPECT_FALSE(fs::exists(record()));
  ErrorDetail locked = {.code = "store.locked", .what = "w", .found = "held by process 116"};
  end_after_second_loss(experiment_.config, read_shard(experiment_.cache(""), 0), locked);
  EXPECT_EQ(locked.exit_code, ExitCode::kTempFail);
  EXPECT_FALSE(fs::exists(record()));
}

TEST_F(ServerLost, ADamagedRecordOrOneOfAnotherPlanIsNoRecord) {
  EXPECT_EQ(after(ESTALE).exit_code, ExitCode::kTempFail);
  write_bytes(record(), "damaged");
  EXPECT_EQ(after(ESTALE).exit_code, ExitCode::kTempFail);
  fs::remove(record());
  EXPECT_EQ(after(ESTALE).exit_code, ExitCode::kTempFail);
  experiment_.config.store.quarantine = QuarantinePolicy::kDrop;
  ASSERT_FALSE(experiment_.plan(1).code);
  EXPECT_EQ(after(ESTALE).exit_code, ExitCode::kTempFail);
}

TEST_F(ServerLost, AShardThatIsEncodedForgetsIt) {
  EXPECT_EQ(after(ESTALE).exit_code, ExitCode::kTempFail);
  ASSERT_TRUE(fs::exists(record()));
  ASSERT_FALSE(experiment_.run_shard(0).code);
  EXPECT_FALSE(fs::exists(record()));
}

// A worker that dies at the same rows, in whatever attempt, is not tried for ever.
TEST(Attempts, InheritTheFailuresOfARowUntilTheShardEnds) {
  Sharded experiment;
  experiment.config.store.chunk_size = 1;
  experiment.config.hardware.max_restarts = 0;
  ASSERT_FALSE(experiment.plan(1).code);
  std::string last;
  int attempts = 0;
  for (; attempts < 10 && last != "worker.poison_chunk"; ++attempts) {
    const ErrorDetail error = experiment.run_shard(0, "crash:3:99");
    ASSERT_TRUE(error.code);
    last = error.code.name();
  }
  EXPECT_EQ(last, "worker.poison_chunk");
  // Of four attempts, three fail in the chunk, and one searches for a row.
  EXPECT_GE(attempts, 3) << "one failure may be an accident";
  EXPECT_LE(attempts, 4);
}

}  // namespace
}  // namespace encode::testing
