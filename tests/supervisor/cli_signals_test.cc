// Sends signals to `encode`. It must end as its caller expects, keep the committed chunks and leave
// no worker running.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/store.h"

#include "supervisor/experiment.h"
#include "supervisor/program.h"

namespace encode::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

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
    Program::Environment environment = {{"FAKE_WORKER_SLOW_MS", "20"}};
    if (!misdeed.empty()) environment["FAKE_WORKER"] = misdeed;
    return Program(experiment_.dir().path(), arguments(), environment);
  }
  std::vector<std::string> arguments() {
    return run_words(experiment_.dir().file("tc.jsonl"), output(),
                     {"--cache-dir", experiment_.dir().file("cache"), "--chunk-size", "20"});
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
  EXPECT_THAT(end.err,
              ::testing::ContainsRegex(
                  "\\): [1-9][0-9,]* of 400 rows are saved(; (1 row was computed but not saved, "
                  "because its chunk is not complete|[0-9,]+ rows were computed but not saved, "
                  "because their chunks are not complete))?; the same command continues"));
  const size_t stopping = end.err.find("stopping after the batch in progress; ");
  EXPECT_LT(stopping, end.err.find("stopped by signal")) << end.err;
  EXPECT_EQ(end.err.find("press Ctrl-C again to stop at once") != std::string::npos,
            GetParam() == SIGINT);
  EXPECT_THAT(end.err,
              HasSubstr("to stop at once; rows that are not yet saved are computed again"));
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

// Sends signals at random moments. In half of the runs the disk is slow, so that some signals come
// during a commit.
class AnyMoment : public Signals {
 protected:
  static constexpr int kUsualSignals = 3;  // soak.signals sends 200

  // Starts a run and sends the signal after a random time. Returns the seconds that the run took to
  // end after the signal, or nullopt if it had finished before.
  std::optional<double> interrupt(int number) {
    Program::Environment environment = {{"FAKE_WORKER_SLOW", "1"}};
    if (random_() % 2 == 0) {
      environment["LD_PRELOAD"] = built_file(FAULT_LIBRARY);
      environment["FAULT_ROOT"] = experiment_.dir().file("cache");
      environment["FAULT_MODE"] = "delay";
    }
    Program program(experiment_.dir().path(), arguments(), environment);
    std::this_thread::sleep_for(milliseconds(random_() % 1500));
    const auto sent = std::chrono::steady_clock::now();
    program.signal(number);
    const ProgramEnd end = program.wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - sent;
    if (end.exit_code == 0 && end.signal == 0) return std::nullopt;
    // A signal that comes before encode has set its handlers ends it at once.
    const bool by_signal = end.signal == number;
    const bool preempted = number != SIGKILL && end.exit_code == 75;
    EXPECT_TRUE(by_signal || preempted) << number << ": " << end.exit_code << " " << end.err;
    EXPECT_TRUE(nobody_left());
    return took.count();
  }

  // Starts with an empty cache directory.
  void start_over() {
    std::filesystem::remove_all(experiment_.dir().file("cache"));
    for (const std::string& path : {output(), manifest_path(output()), ledger_path(output())})
      std::filesystem::remove(path);
  }

  void expect_finished_without_a_chunk_twice() {
    const ProgramEnd end = Program(experiment_.dir().path(), arguments()).wait();
    EXPECT_EQ(end.exit_code, 0) << end.err;
    const std::vector<int64_t> chunks = experiment_.take_encoded_chunks();
    EXPECT_EQ(std::set<int64_t>(chunks.begin(), chunks.end()).size(), chunks.size());
  }

  std::mt19937 random_{11};
};

TEST_F(AnyMoment, ASignalKeepsTheCommittedChunks) {
  constexpr std::array kSignals = {SIGINT,  SIGTERM, SIGHUP, SIGUSR1, SIGUSR2,
                                   SIGXCPU, SIGALRM, SIGPWR, SIGKILL};
  expect_finished_without_a_chunk_twice();
  const std::string expected = read_bytes(output());
  const char* const soak = std::getenv("SIGNAL_SOAK");
  const int signals = soak == nullptr ? kUsualSignals : std::atoi(soak);
  double longest = 0;
  for (int sent = 0; sent < signals;) {
    start_over();
    for (int i = 0; i < 3; ++i) {
      const std::optional<double> took = interrupt(kSignals.at(random_() % kSignals.size()));
      if (!took) break;
      ++sent;
      longest = std::max(longest, *took);
    }
    expect_finished_without_a_chunk_twice();
    EXPECT_TRUE(read_bytes(output()) == expected);
  }
  EXPECT_LT(longest, 20) << "the grace";
  std::cout << fmt::format("count: {} signals; the longest end took {:.2f} s\n", signals, longest);
}

TEST_F(Signals, SecondSignalEndsAHungRunAtOnce) {
  Program program = start("hang:1:1");
  ASSERT_TRUE(wait_until([this] { return committed(); }));
  std::this_thread::sleep_for(milliseconds(100));
  program.signal(SIGINT);
  const std::string err = experiment_.dir().file("stderr");
  ASSERT_TRUE(wait_until([&] { return read_bytes(err).find("stopping") != std::string::npos; }))
      << "the first signal is answered at once, although the worker hangs";
  std::this_thread::sleep_for(milliseconds(600));  // sooner, it would count as the first
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
