// Tests what happens after a worker has failed: another worker, a search for a row, or the end.
#include "supervisor/worker/fault_policy.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/code_of.h"
#include "support/temp_dir.h"

namespace encode {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

ErrorDetail cause() {
  ErrorDetail error;
  error.exit_code = ExitCode::kTempFail;
  error.code = "device.cuda";
  error.what = "the context failed";
  return error;
}

FaultPolicy::Failure in_window(RowRange rows) {
  return {.stream = "s", .rows = rows, .probing = false, .cause = cause()};
}

FaultPolicy::Failure in_probe(RowRange rows) {
  return {.stream = "s", .rows = rows, .probing = true, .cause = cause()};
}

JobUnit prepared(FaultPolicy& policy, size_t worker = 0) {
  JobUnit unit;
  policy.prepare("s", unit, worker);
  return unit;
}

// Another start of the run would fail as these have, so a scheduler must not start it again.
TEST(FaultPolicy, LackOfMemoryInEveryStartIsNoReasonForAnotherRun) {
  for (const ErrorCode code :
       {ErrorCode("host.oom_kill"), ErrorCode("host.memory"), ErrorCode("device.cuda")}) {
    FaultMemory memory("");
    FaultPolicy policy(1, 0, memory);
    ErrorDetail error = cause();
    error.code = code;
    policy.restart(error);
    const bool memory_short = code != "device.cuda";
    try {
      policy.restart(error);
      ADD_FAILURE() << code.name();
    } catch (const Error& last) {
      EXPECT_EQ(last.exit_code(), memory_short ? ExitCode::kOsError : ExitCode::kTempFail)
          << code.name();
    }
  }
}

TEST(FaultPolicy, DelaysDoubleUpToAMinute) {
  FaultMemory memory("");
  FaultPolicy policy(8, 1, memory);
  std::vector<double> delays;
  for (int i = 0; i < 8; ++i) delays.push_back(policy.decide({.cause = cause()}).delay_seconds);
  EXPECT_THAT(delays, ElementsAre(1, 2, 4, 8, 16, 32, 60, 60));
  EXPECT_EQ(code_of([&] { policy.decide({.cause = cause()}); }), "device.cuda")
      << "the error of the cause";
}

TEST(FaultPolicy, ProgressStartsTheCountOfRestartsAnew) {
  FaultMemory memory("");
  FaultPolicy policy(2, 1, memory);
  for (int64_t row = 0; row < 50; ++row) {
    EXPECT_EQ(policy.decide(in_window({row, row + 1})).delay_seconds, 1);
    policy.committed("s", {row, row + 1});
  }
}

TEST(FaultPolicy, TheSecondFailureOfAWindowBeginsASearchThatEndsWithOneRow) {
  FaultMemory memory("");
  FaultPolicy policy(5, 1, memory);
  EXPECT_FALSE(policy.decide(in_window({100, 200})).searching);
  EXPECT_EQ(prepared(policy).probe, RowRange{});
  // The windows of the next worker may begin elsewhere.
  EXPECT_TRUE(policy.decide(in_window({50, 180})).searching);
  EXPECT_EQ(prepared(policy).probe, (RowRange{50, 180}));
  EXPECT_FALSE(policy.decide(in_probe({140, 150})).culprit);
  EXPECT_EQ(prepared(policy).probe, (RowRange{140, 150}));
  EXPECT_FALSE(policy.decide(in_probe({143, 144})).culprit) << "may be an accident";
  const auto culprit = policy.decide(in_probe({143, 144})).culprit;
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->row, 143);
  EXPECT_EQ(culprit->code, "device.cuda");
  const JobUnit unit = prepared(policy);
  EXPECT_THAT(unit.set_aside, ElementsAre(*culprit));
  EXPECT_EQ(unit.probe, (RowRange{50, 180})) << "the window may have other such rows";
  policy.window_started("s");
  EXPECT_EQ(prepared(policy).probe, RowRange{});
}

// The part of the probe that a worker encodes when it dies of `row`.
RowRange failing_part(RowRange probe, int64_t row) {
  for (int64_t part = 0; part < kProbeParts; ++part) {
    const int64_t begin = probe.begin + probe.size() * part / kProbeParts;
    const int64_t end = probe.begin + probe.size() * (part + 1) / kProbeParts;
    if (row >= begin && row < end) return {.begin = begin, .end = end};
  }
  return probe;
}

// Lets workers die of one row of a window until the policy has found the row. Returns the number of
// workers. Throws Error if the policy gives up before.
int64_t search_a_row(int64_t max_restarts) {
  constexpr int64_t kRow = 777;
  FaultMemory memory("");
  FaultPolicy policy(max_restarts, 0, memory);
  for (int64_t workers = 1;; ++workers) {
    const RowRange probe = prepared(policy).probe;
    const FaultPolicy::Decision decision = policy.decide(
        probe.size() > 0 ? in_probe(failing_part(probe, kRow)) : in_window({0, 1024}));
    if (decision.culprit && decision.culprit->row == kRow) return workers;
  }
}

// `encode preflight` shows these figures.
TEST(FaultPolicy, ARowThatKillsEveryWorkerIsFoundIfThereAreRestartsEnough) {
  for (const int64_t restarts : {FaultPolicy::kSearchRestarts, HardwareOptions().max_restarts})
    EXPECT_EQ(search_a_row(restarts), FaultPolicy::kSearchWorkers) << restarts;
  EXPECT_EQ(code_of([] { search_a_row(FaultPolicy::kSearchRestarts - 1); }), "device.cuda");
}

TEST(FaultPolicy, AWindowThatFailsWithoutACulpritEndsTheRun) {
  FaultMemory memory("");
  FaultPolicy policy(99, 1, memory);
  policy.decide(in_window({0, 9}));
  policy.decide(in_window({0, 9}));
  EXPECT_EQ(prepared(policy).probe, (RowRange{0, 9}));
  policy.window_started("s");  // the probe found nothing
  EXPECT_EQ(code_of([&] { policy.decide(in_window({0, 9})); }), "worker.poison_chunk");
  EXPECT_EQ(code_of([&] {
              policy.decide(in_window({0, 9}));
            }),
            "no error")
      << "after the error the count begins again";
}

TEST(FaultPolicy, FailuresOfDifferentWindowsDoNotAddUp) {
  FaultMemory memory("");
  FaultPolicy policy(99, 1, memory);
  for (int64_t row = 0; row < 9; ++row)
    EXPECT_FALSE(policy.decide(in_window({row, row + 1})).searching);
}

FaultPolicy::Failure in_windows(RowRange rows, RowRange ahead) {
  FaultPolicy::Failure failure = in_window(rows);
  failure.ahead = ahead;
  return failure;
}

// Both windows were on the device, so either one may be to blame. The next worker encodes one after
// the other.
TEST(FaultPolicy, AFailureAlsoSuspectsTheNextWindowUntilEachIsEncodedAlone) {
  FaultMemory memory("");
  FaultPolicy policy(5, 1, memory);
  EXPECT_THAT(prepared(policy).alone, IsEmpty());
  EXPECT_FALSE(policy.decide(in_windows({0, 100}, {300, 400})).searching);
  EXPECT_THAT(prepared(policy).alone, UnorderedElementsAre(RowRange{0, 100}, RowRange{300, 400}));
  EXPECT_EQ(prepared(policy).probe, RowRange{});
  policy.committed("s", {0, 100});
  EXPECT_THAT(prepared(policy).alone, ElementsAre(RowRange{300, 400})) << "the first is innocent";
  EXPECT_TRUE(policy.decide(in_window({300, 400})).searching) << "its second failure";
  EXPECT_EQ(prepared(policy).probe, (RowRange{300, 400}));
}

TEST(FaultPolicy, TheFirstOfTwoWindowsIsSearchedIfItFailsAgain) {
  FaultMemory memory("");
  FaultPolicy policy(5, 1, memory);
  policy.decide(in_windows({0, 100}, {100, 200}));
  EXPECT_TRUE(policy.decide(in_window({0, 100})).searching);
  EXPECT_EQ(prepared(policy).probe, (RowRange{0, 100}));
  policy.committed("s", {0, 200});
  EXPECT_THAT(prepared(policy).alone, IsEmpty());
}

// A worker of another device may have begun before the first failure, and does not know of it.
TEST(FaultPolicy, ASuspectedWindowIsNotCountedAsTheNextOne) {
  FaultMemory memory("");
  FaultPolicy policy(9, 1, memory);
  policy.decide(in_window({100, 200}));
  for (int64_t worker = 0; worker < 3; ++worker)
    EXPECT_FALSE(policy.decide(in_windows({worker, worker + 1}, {100, 200})).searching);
  EXPECT_EQ(prepared(policy).probe, RowRange{});
}

TEST(FaultPolicy, RowsThatAllFailAreNotToBlame) {
  FaultMemory memory("");
  FaultPolicy policy(5, 1, memory);
  policy.decide(in_window({0, 99}));
  policy.decide(in_window({0, 99}));
  const auto fail_alone = [&](int64_t row) {
    policy.decide(in_probe({row, row + 1}));
    policy.decide(in_probe({row, row + 1}));
  };
  fail_alone(0);
  fail_alone(1);
  EXPECT_EQ(code_of([&] { fail_alone(2); }), "worker.every_row");
  EXPECT_TRUE(prepared(policy).set_aside.empty());
  EXPECT_EQ(prepared(policy).probe, RowRange{});
}

TEST(FaultPolicy, ManyCulpritsAreFoundIfOtherRowsSucceed) {
  FaultMemory memory("");
  FaultPolicy policy(5, 1, memory);
  policy.decide(in_window({0, 99}));
  policy.decide(in_window({0, 99}));
  for (int64_t row = 0; row < 20; ++row) {
    policy.decide(in_probe({row, row + 1}));
    EXPECT_TRUE(policy.decide(in_probe({row, row + 1})).culprit);
    policy.rows_encoded();
  }
  EXPECT_EQ(prepared(policy).set_aside.size(), 20U);
}

TEST(FaultPolicy, WithoutRestartsEvenASearchEndsTheRun) {
  FaultMemory memory("");
  FaultPolicy policy(0, 1, memory);
  EXPECT_EQ(code_of([&] { policy.decide(in_window({0, 9})); }), "device.cuda");
  EXPECT_EQ(code_of([&] { policy.decide(in_probe({0, 9})); }), "device.cuda");
}

FaultPolicy::Failure of_worker(size_t worker, FaultPolicy::Failure failure) {
  failure.worker = worker;
  return failure;
}

// While one device searches for a row, the others keep away from its window.
TEST(SeveralDevices, OneSearchesAndTheOthersAvoidTheRows) {
  FaultMemory memory("");
  FaultPolicy policy(5, 1, memory);
  policy.decide(of_worker(0, in_window({100, 200})));
  policy.decide(of_worker(1, in_window({100, 200})));
  EXPECT_EQ(prepared(policy, 1).probe, (RowRange{100, 200}));
  const JobUnit other = prepared(policy, 0);
  EXPECT_EQ(other.probe, RowRange{});
  EXPECT_THAT(other.avoid, ElementsAre(RowRange{100, 200}));
  // Worker 2 began before the search. Its failure is not the third one of the window.
  EXPECT_FALSE(policy.decide(of_worker(2, in_window({150, 250}))).searching);
  policy.window_started("s", 0);
  EXPECT_EQ(prepared(policy, 1).probe, (RowRange{100, 200})) << "only the searcher ends the search";
  policy.decide(of_worker(1, in_probe({120, 121})));
  policy.worker_ended(1);
  EXPECT_EQ(prepared(policy, 0).probe, (RowRange{120, 121})) << "any device can go on with it";
  EXPECT_TRUE(policy.decide(of_worker(0, in_probe({120, 121}))).culprit);
}

// A worker that began before the second failure does not know that the failure calls for a search.
TEST(SeveralDevices, AWorkerThatBeganBeforeASearchNeitherSearchesNorEndsTheSearch) {
  FaultMemory memory("");
  FaultPolicy policy(9, 1, memory);
  for (const size_t worker : {0, 1}) policy.decide(of_worker(worker, in_window({0, 10})));
  EXPECT_FALSE(policy.decide(of_worker(2, in_window({0, 12}))).searching);
  policy.window_started("s", 2);
  EXPECT_EQ(prepared(policy, 0).probe, (RowRange{0, 10})) << "nobody has searched yet";
}

TEST(SeveralDevices, AWindowIsSearchedBeforeItsFailuresEndTheRun) {
  FaultMemory memory("");
  FaultPolicy policy(9, 1, memory);
  for (const size_t worker : {0, 1}) policy.decide(of_worker(worker, in_window({0, 10})));
  EXPECT_EQ(prepared(policy, 0).probe, (RowRange{0, 10}));
  for (const size_t worker : {1, 1}) policy.decide(of_worker(worker, in_window({50, 60})));
  policy.window_started("s", 0);
  // Worker 0 began before the second window had failed twice, so it also fails in this window.
  EXPECT_TRUE(policy.decide(of_worker(0, in_window({50, 62}))).searching);
  policy.worker_ended(0);
  EXPECT_EQ(prepared(policy, 0).probe, (RowRange{50, 62}));
  policy.window_started("s", 0);
  EXPECT_EQ(code_of([&] {
              policy.decide(of_worker(0, in_window({50, 60})));
            }),
            "worker.poison_chunk");
}

// A broken device fails with every row. A row that another device can encode must not be blamed.
TEST(SeveralDevices, ARowIsBlamedWhenItFailsOnTwo) {
  FaultMemory memory("");
  FaultPolicy policy(9, 1, memory);
  policy.set_devices(2);
  for (int i = 0; i < 2; ++i) policy.decide(of_worker(1, in_window({0, 10})));
  prepared(policy, 1);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(policy.decide(of_worker(1, in_probe({3, 4}))).culprit);
  policy.worker_ended(1);
  EXPECT_THAT(prepared(policy, 1).avoid, ElementsAre(RowRange{0, 10})) << "it goes on elsewhere";
  EXPECT_EQ(prepared(policy, 0).probe, (RowRange{3, 4}));
  EXPECT_TRUE(policy.decide(of_worker(0, in_probe({3, 4}))).culprit);
  policy.set_devices(1);
  EXPECT_EQ(prepared(policy, 0).probe, (RowRange{0, 10})) << "the window may have other such rows";
}

TEST(SeveralDevices, ASecondWindowWaitsForTheEndOfTheSearch) {
  FaultMemory memory("");
  FaultPolicy policy(9, 1, memory);
  for (const size_t worker : {0, 1}) policy.decide(of_worker(worker, in_window({0, 10})));
  EXPECT_EQ(prepared(policy, 0).probe, (RowRange{0, 10}));
  for (const size_t worker : {1, 1}) policy.decide(of_worker(worker, in_window({50, 60})));
  EXPECT_THAT(prepared(policy, 1).avoid,
              ::testing::UnorderedElementsAre(RowRange{0, 10}, RowRange{50, 60}));
  policy.window_started("s", 0);
  EXPECT_EQ(prepared(policy, 1).probe, (RowRange{50, 60}));
}

// A row that a healthy device encodes is good, even if it fails on a broken device.
TEST(SeveralDevices, RowsThatAnotherDeviceHasEncodedAreNotBlamed) {
  FaultMemory memory("");
  FaultPolicy policy(9, 1, memory);
  for (int i = 0; i < 2; ++i) policy.decide(of_worker(1, in_window({0, 10})));
  prepared(policy, 1);
  for (int i = 0; i < 2; ++i) policy.decide(of_worker(1, in_probe({3, 4})));
  EXPECT_EQ(prepared(policy, 1).set_aside.size(), 1U);
  policy.committed("s", {0, 10}, 0);
  EXPECT_TRUE(prepared(policy, 1).set_aside.empty());
  EXPECT_EQ(prepared(policy, 1).probe, RowRange{});
}

TEST(SeveralDevices, EachCountsItsOwnRestartsAndCulprits) {
  FaultMemory memory("");
  FaultPolicy policy(2, 1, memory);
  for (int i = 0; i < 2; ++i) {
    policy.decide({.cause = cause(), .worker = 1});
    policy.committed("s", {i, i + 1}, 0);
  }
  EXPECT_EQ(policy.restarts(1), 2);
  EXPECT_EQ(code_of([&] { policy.decide({.cause = cause(), .worker = 1}); }), "device.cuda")
      << "the progress of another device does not count";
  EXPECT_EQ(policy.decide({.cause = cause(), .worker = 0}).delay_seconds, 1);
}

TEST(FaultMemory, SurvivesTheProcessAndDamage) {
  const testing::TempDir dir;
  const std::string path = dir.file("attempts.json");
  {
    FaultMemory memory(path);
    FaultPolicy policy(9, 1, memory);
    memory.bind("s", "fingerprint");
    policy.decide(in_window({4, 8}));
    policy.rows_set_aside("s", {{.row = 7, .code = "c", .message = "m"}});
    memory.of("s").budgets["gpu"] = 4096;
    memory.save();
  }
  FaultMemory memory(path);
  FaultPolicy policy(9, 1, memory);
  const JobUnit unit = prepared(policy);
  EXPECT_THAT(unit.set_aside, ElementsAre(SetAsideRow{.row = 7, .code = "c", .message = "m"}));
  EXPECT_EQ(unit.budget_limits.at("gpu"), 4096);
  EXPECT_TRUE(policy.decide(in_window({4, 8})).searching);
  policy.finished("s");
  EXPECT_TRUE(prepared(policy).set_aside.empty());
  EXPECT_EQ(prepared(policy).budget_limits.size(), 1U) << "the device has no more memory now";
  for (const char* damage : {"", "{", "[]", R"({"s":1})", R"({"s":{"failures":-3}})", "\xff"}) {
    dir.write("attempts.json", damage);
    EXPECT_TRUE(FaultMemory(path).streams().empty()) << damage;
  }
}

}  // namespace
}  // namespace encode
