// Sends signals to `encode`. It must end as its caller expects, keep the committed chunks and leave
// no worker running.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "supervisor/experiment.h"
#include "supervisor/program.h"

namespace encode::testing {
namespace {

using std::chrono::milliseconds;

bool wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

class Signals : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 400;  // take two seconds: a batch of four rows takes 20 ms

  Signals() { experiment_.write_input("tc", kRows, "tc"); }

  Program start(const std::string& misdeed = "") {
    Program::Environment environment = {{"FAKE_WORKER_SLOW", "1"}};
    if (!misdeed.empty()) environment["FAKE_WORKER"] = misdeed;
    return Program(experiment_.dir().path(), arguments(), environment);
  }
  std::vector<std::string> arguments() {
    return {"run",
            "--model",
            test_data("models/bert"),
            "--input",
            experiment_.dir().file("tc.jsonl"),
            "--field",
            "text",
            "--output",
            output(),
            "--cache-dir",
            experiment_.dir().file("cache"),
            "--chunk-size",
            "20"};
  }
  std::string output() const { return experiment_.dir().file("out.npy"); }
  bool committed() const { return std::filesystem::exists(experiment_.cache("encoded_chunks")); }
  // Waits until the lock on the cache is free. The worker inherits the lock, so a free lock means
  // that no process is left.
  bool nobody_left() const {
    return wait_until([this] {
      try {
        CacheLock::acquire(experiment_.dir().file("cache"));
        return true;
      } catch (const Error&) {
        return false;
      }
    });
  }
  // Runs the experiment again and checks that only the missing chunks are encoded.
  void finish_and_check() {
    const size_t before = experiment_.take_encoded_chunks().size();
    EXPECT_GE(before, 1U);
    const ProgramEnd end = Program(experiment_.dir().path(), arguments()).wait();
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_EQ(experiment_.take_encoded_chunks().size(), kRows / 20 - before);
  }

  Experiment experiment_;
};

class StopSignals : public Signals, public ::testing::WithParamInterface<int> {};

TEST_P(StopSignals, KeepsChunksAndEndsByTheSignal) {
  Program program = start();
  ASSERT_TRUE(wait_until([this] { return committed(); }));
  program.signal(GetParam());
  const ProgramEnd end = program.wait();
  EXPECT_EQ(end.signal, GetParam()) << end.err;
  EXPECT_THAT(end.err, ::testing::HasSubstr("every committed chunk is kept"));
  EXPECT_TRUE(nobody_left());
  finish_and_check();
}
INSTANTIATE_TEST_SUITE_P(IntTermHup, StopSignals, ::testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_F(Signals, WarningBeforePreemptionAsksForARequeue) {
  Program program = start();
  ASSERT_TRUE(wait_until([this] { return committed(); }));
  program.signal(SIGUSR1);
  EXPECT_EQ(program.wait().exit_code, 75);
  finish_and_check();
}

TEST_F(Signals, KilledSupervisorTakesItsWorkerAlong) {
  Program program = start();
  ASSERT_TRUE(wait_until([this] { return committed(); }));
  program.signal(SIGKILL);
  EXPECT_EQ(program.wait().signal, SIGKILL);
  EXPECT_TRUE(nobody_left());
  finish_and_check();
}

TEST_F(Signals, SecondSignalEndsAHungRunAtOnce) {
  Program program = start("hang:1:1");
  ASSERT_TRUE(wait_until([this] { return committed(); }));
  std::this_thread::sleep_for(milliseconds(100));
  program.signal(SIGINT);
  std::this_thread::sleep_for(milliseconds(300));
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().signal, SIGINT);
  EXPECT_TRUE(nobody_left());
}

TEST_F(Signals, SecondRunOnABusyCacheDoesNotWaitForTheFirst) {
  Program program = start("hang:1:1");  // the worker keeps the lock for at least a minute
  ASSERT_TRUE(wait_until([this] { return committed(); }));
  const TempDir elsewhere;
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(Program(elsewhere.path(), arguments()).wait().exit_code, 75);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
}

}  // namespace
}  // namespace encode::testing
