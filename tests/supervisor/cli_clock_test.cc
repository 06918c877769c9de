// Moves the clock of the day while `encode` runs. Nothing may depend on it: no timeout, and no
// byte of a result.
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "supervisor/experiment.h"
#include "supervisor/program.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kYear = 365 * 86'400;

struct ClockRun {
  ProgramEnd end;
  std::string matrix;
  int64_t status_time = 0;  // the time at the end of the run, according to the program
};

// The worker is killed once, so the run also waits for the delay before the next worker.
ClockRun run(Program::Environment environment) {
  const Experiment experiment;
  experiment.write_input("tc", 60, "tc");
  environment["FAKE_WORKER_SLOW_MS"] = "2";
  environment["FAKE_WORKER"] = "killed:3:1";
  const std::string output = experiment.dir().file("out.npy");
  ClockRun run;
  run.end = Program(experiment.dir().path(),
                    {"run", "--model", test_data("models/bert"), "--input",
                     experiment.dir().file("tc.jsonl"), "--field", "text", "--output", output,
                     "--cache-dir", experiment.dir().file("cache"), "--chunk-size", "10"},
                    environment)
                .wait();
  if (run.end.exit_code != 0) return run;
  run.matrix = read_bytes(output);
  run.status_time = Json::parse(read_bytes(experiment.cache("status.json")))["time"].get<int64_t>();
  return run;
}

class MovedClock : public ::testing::TestWithParam<const char*> {};

TEST_P(MovedClock, ChangesNothing) {
  const ClockRun still = run({});
  ASSERT_EQ(still.end.exit_code, 0) << still.end.err;
  const char* const soak = std::getenv("CLOCK_SOAK");
  for (int rounds = soak != nullptr ? std::atoi(soak) : 1; rounds > 0; --rounds) {
    const ClockRun moved =
        run({{"LD_PRELOAD", built_file(CLOCK_LIBRARY)}, {"CLOCK_JUMP", GetParam()}});
    ASSERT_EQ(moved.end.exit_code, 0) << moved.end.err;
    EXPECT_EQ(moved.matrix, still.matrix);
    EXPECT_THAT(moved.end.err, HasSubstr("restart 1 of"));
    EXPECT_THAT(moved.end.err, Not(HasSubstr("restart 2 of"))) << "no timeout may fire";
    EXPECT_GT(std::abs(moved.status_time - still.status_time), 9 * kYear)
        << "the clock was not moved";
  }
}

INSTANTIATE_TEST_SUITE_P(Clock, MovedClock, ::testing::Values("315360000", "-315360000", "step"),
                         [](const auto& value) {
                           const std::string jump = value.param;
                           if (jump == "step") return jump;
                           return std::string(jump.starts_with('-') ? "back" : "ahead");
                         });

}  // namespace
}  // namespace encode::testing
