// Tests when a failed worker is restarted, and when the run gives up.
#include "supervisor/worker/restart_policy.h"

#include <fmt/format.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace encode {
namespace {

RestartPolicy::Failure failure_of(const std::string& stream, int64_t chunk) {
  RestartPolicy::Failure failure;
  failure.stream = stream;
  failure.chunk = chunk;
  failure.chunk_name = fmt::format("chunk {}", chunk);
  failure.cause.exit_code = ExitCode::kTempFail;
  return failure;
}

ExitCode exit_code_of(RestartPolicy& policy, const RestartPolicy::Failure& failure) {
  try {
    policy.restart_delay(failure);
    return ExitCode::kOk;
  } catch (const Error& error) {
    return error.exit_code();
  }
}

TEST(RestartPolicy, DelaysDoubleUpToAMinute) {
  AttemptLog attempts("");
  RestartPolicy policy(8, 1, attempts);
  std::vector<double> delays;
  for (int i = 0; i < 8; ++i) delays.push_back(policy.restart_delay(failure_of("", -1)));
  EXPECT_THAT(delays, ::testing::ElementsAre(1, 2, 4, 8, 16, 32, 60, 60));
  EXPECT_EQ(exit_code_of(policy, failure_of("", -1)), ExitCode::kTempFail)
      << "the exit code of the cause";
}

TEST(RestartPolicy, ProgressStartsTheCountAnew) {
  AttemptLog attempts("");
  RestartPolicy policy(2, 1, attempts);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(policy.restart_delay(failure_of("s", i)), 1);
    policy.progressed("s");
  }
}

TEST(RestartPolicy, ChunksUpToTheOneThatFailedAreEncodedAloneUntilOneIsCommitted) {
  AttemptLog attempts("");
  RestartPolicy policy(9, 1, attempts);
  EXPECT_EQ(policy.alone_below("s"), 0);
  policy.restart_delay(failure_of("s", 6));
  EXPECT_EQ(policy.alone_below("s"), 7);
  EXPECT_EQ(policy.alone_below("other"), 0);
  policy.progressed("s");
  EXPECT_EQ(policy.alone_below("s"), 0);
}

TEST(RestartPolicy, ThirdFailureOfOneChunkIsTheLast) {
  AttemptLog attempts("");
  RestartPolicy policy(99, 1, attempts);
  EXPECT_EQ(exit_code_of(policy, failure_of("s", 4)), ExitCode::kOk);
  EXPECT_EQ(exit_code_of(policy, failure_of("s", 4)), ExitCode::kOk);
  EXPECT_EQ(exit_code_of(policy, failure_of("s", 4)), ExitCode::kInternal);
  EXPECT_EQ(exit_code_of(policy, failure_of("s", 4)), ExitCode::kOk)
      << "after the error the count begins again";
}

TEST(RestartPolicy, FailuresOfDifferentChunksDoNotAddUp) {
  AttemptLog attempts("");
  RestartPolicy policy(99, 1, attempts);
  for (int64_t chunk = 0; chunk < 9; ++chunk) {
    EXPECT_EQ(exit_code_of(policy, failure_of("s", chunk)), ExitCode::kOk);
  }
}

TEST(AttemptLog, SurvivesTheProcessAndDamage) {
  const testing::TempDir dir;
  const std::string path = dir.file("attempts.json");
  AttemptLog(path).failed("s", 4);
  EXPECT_EQ(AttemptLog(path).failed("s", 4), 2);
  EXPECT_EQ(AttemptLog(path).failed("s", 5), 1) << "another chunk";
  AttemptLog(path).forget("s");
  EXPECT_EQ(AttemptLog(path).failed("s", 5), 1);
  for (const char* damage : {"", "{", "[]", R"({"s":1})", R"({"s":{"chunk":-3}})", "\xff"}) {
    dir.write("attempts.json", damage);
    EXPECT_EQ(AttemptLog(path).failed("s", 5), 1) << damage;
  }
}

}  // namespace
}  // namespace encode
