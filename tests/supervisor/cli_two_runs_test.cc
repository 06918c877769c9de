// Tests two runs of one cache directory that do not see each other's locks, of which one stands
// still while the other one publishes.
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/program.h"
#include "supervisor/shared_cache.h"

namespace encode::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::IsEmpty;

// A process that may stand still.
class StandingRun {
 public:
  StandingRun(const std::string& directory, const std::vector<std::string>& words,
              const Program::Environment& environment)
      : program_(directory, words, environment) {}

  // Waits until the process or its worker stands still. Returns false if it has ended before.
  bool stands_still() {
    while (true) {
      siginfo_t info = {};
      ::waitid(P_PID, static_cast<id_t>(program_.pid()), &info,
               WEXITED | WSTOPPED | WNOWAIT | WNOHANG);
      if (info.si_pid != 0) return info.si_code == CLD_STOPPED;
      if (worker_stands_still()) return true;
      ::usleep(1000);
    }
  }
  ProgramEnd go_on() {
    if (worker_ > 0) ::kill(worker_, SIGCONT);
    program_.signal(SIGCONT);
    return program_.wait();
  }

 private:
  bool worker_stands_still() {
    const std::string tasks = fmt::format("/proc/{}/task", program_.pid());
    std::error_code ignored;
    for (const auto& task : fs::directory_iterator(tasks, ignored)) {
      std::ifstream children(task.path() / "children");
      pid_t child = 0;
      while (children >> child) {
        std::ifstream stat(fmt::format("/proc/{}/stat", child));
        std::string text;
        std::getline(stat, text);  // no text if the process has ended
        const size_t end = text.rfind(')');
        if (end == std::string::npos || text.compare(end, 3, ") T") != 0) continue;
        worker_ = child;
        return true;
      }
    }
    return false;
  }

  Program program_;
  pid_t worker_ = -1;
};

class TwoRuns : public OwnAttempt {
 protected:
  struct Outcome {
    int64_t stops = 0;      // how often the first run stood still
    int64_t published = 0;  // how often the second one ended with 0 meanwhile
    int64_t damaged = 0;    // how often its result was damaged or changed afterwards
    std::vector<std::string> problems = {};
  };

  struct Calls {
    std::string program;
    std::string call;
    int64_t step = 1;  // above 1: only every call number `step`
    bool until_damage = false;
  };

  // Lets a run stand still before its first call of a kind, then before the next one, and so on.
  // Meanwhile a second run does everything, and then the first one goes on.
  void stop_before_each(const Calls& calls, Outcome& outcome,
                        const Program::Environment& more = {}) {
    const auto& [program, call, step, until_damage] = calls;
    for (int64_t at = 1; at < 200; at += step) {
      fs::remove_all(cache());
      std::vector<std::string> flags;
      if (replaces_) {
        ASSERT_EQ(run(9).exit_code, 0);
        flags = {"--fresh"};
      }
      fs::create_directories(dir_.file("first"));
      Program::Environment stopping = environment(1, more);
      stopping.insert({{"FAULT_MODE", "stop_before"},
                       {"FAULT_CALL", call},
                       {"FAULT_AT", fmt::to_string(at)},
                       {"FAULT_PROGRAM", program}});
      StandingRun first(dir_.file("first"), words("run", flags), stopping);
      if (!first.stands_still()) {
        EXPECT_EQ(first.go_on().exit_code, 0);
        return;
      }
      ++outcome.stops;
      meet(first, flags, more, fmt::format("{} {} {}", program, call, at), outcome);
      if (until_damage && outcome.damaged > 0) return;
    }
    FAIL() << "too many calls";
  }

  bool replaces_ = false;

 private:
  static std::string error_in(const ProgramEnd& end) {
    const size_t error = end.err.find("error[");
    return error == std::string::npos ? end.err : end.err.substr(error);
  }
  // Returns the names of the files that are not the same.
  static std::string changed(const Files& before, const Files& after) {
    std::string names;
    for (const Files& one : {before, after}) {
      for (const auto& [name, bytes] : one) {
        const bool same =
            before.contains(name) && after.contains(name) && before.at(name) == after.at(name);
        if (!same && names.find(name) == std::string::npos) names += name + ' ';
      }
    }
    return names;
  }

  void meet(StandingRun& first, const std::vector<std::string>& flags,
            const Program::Environment& more, const std::string& where, Outcome& outcome) {
    const ProgramEnd second = run(2, more, flags);
    const int before = verified();
    const Files files = matrices(cache());
    const ProgramEnd late = first.go_on();
    const auto problem = [&](const std::string& text) {
      outcome.problems.push_back(where + ": " + text);
    };
    if (late.exit_code != 0 && late.exit_code != 75)
      problem(fmt::format("the first run ended with {}: {}", late.exit_code, error_in(late)));
    if (second.exit_code != 0 && second.exit_code != 75)
      problem(fmt::format("the second run ended with {}: {}", second.exit_code, error_in(second)));
    if (second.exit_code == 0) {
      ++outcome.published;
      const int after = verified();
      if (before != 0 || after != 0 || matrices(cache()) != files) {
        ++outcome.damaged;
        problem(
            fmt::format("verify of what the second run has published: {}, then {}; changed: {}; "
                        "the first run: {}",
                        before, after, changed(files, matrices(cache())), late.exit_code));
      }
    }
    if (late.exit_code == 0 && verified() != 0) problem("the first run ended with 0");
    const ProgramEnd next = run(3, more);
    if (next.exit_code != 0 || verified() != 0)
      problem(fmt::format("the next run ended with {}: {}", next.exit_code, error_in(next)));
  }
};

TEST_F(TwoRuns, ALateRunChangesNothingThatAnotherOneHasPublished) {
  Outcome outcome;
  stop_before_each({"encode", "rename", 5}, outcome);
  stop_before_each({"encode", "link", 1}, outcome);
  stop_before_each({"encode", "unlink", 5}, outcome);
  stop_before_each({"fake_worker", "rename", 4}, outcome);
  EXPECT_THAT(outcome.problems, IsEmpty());
  EXPECT_GT(outcome.stops, 10);
  EXPECT_GT(outcome.published, outcome.stops * 3 / 4);
}

TEST_F(TwoRuns, ALateRunThatReplacesAMatrixChangesNothingEither) {
  replaces_ = true;
  Outcome outcome;
  stop_before_each({"encode", "rename", 7}, outcome);
  stop_before_each({"encode", "unlink", 7}, outcome);
  EXPECT_THAT(outcome.problems, IsEmpty());
  EXPECT_GT(outcome.stops, 5);
  EXPECT_GT(outcome.published, outcome.stops / 2);
}

// The control: the same runs in the cache directory itself, as on a local disk.
TEST_F(TwoRuns, WithoutAttemptsALateRunDamagesThem) {
  Outcome outcome;
  for (const char* const call : {"rename", "unlink"})
    stop_before_each({"encode", call, 1, true}, outcome, {{"FAULT_FILE_SYSTEM", "0"}});
  EXPECT_GT(outcome.damaged, 0);
}

TEST_F(TwoRuns, AtTheSameTimeBothEndWellOrWith75) {
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    fs::remove_all(cache());
    std::vector<std::unique_ptr<Program>> runs;
    for (int shift = 1; shift <= 3; ++shift) {
      const std::string folder = dir_.file(fmt::format("run{}", shift));
      fs::create_directories(folder);
      runs.push_back(std::make_unique<Program>(folder, words("run"),
                                               environment(shift, {{"FAKE_WORKER_SLOW_MS", "3"}})));
      ::usleep(static_cast<useconds_t>(20'000 * (round % 4)));
    }
    int published = 0;
    for (const auto& program : runs) {
      const ProgramEnd end = program->wait();
      EXPECT_THAT(end.exit_code, AnyOf(0, 75)) << end.err;
      published += end.exit_code == 0 ? 1 : 0;
    }
    if (published > 0) {
      EXPECT_EQ(verified(), 0);
    }
    EXPECT_EQ(run().exit_code, 0);
    EXPECT_EQ(verified(), 0);
  }
}

}  // namespace
}  // namespace encode::testing
