// Faults of the device: what a run does, and that no vector is wrong after it.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/npy.h"
#include "fault_run.h"
#include "run_record/fault_log.h"

namespace encode::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

bool recorded(const FaultRun& run, FaultType type, FaultAction action) {
  const FaultHistory history = read_faults(run.cache("faults.jsonl"));
  return std::any_of(history.records.begin(), history.records.end(), [&](const FaultRecord& fault) {
    return fault.type == type && fault.action == action;
  });
}

void expect_undisturbed(const FaultRun& run, const std::vector<std::vector<float>>& expected) {
  for (int64_t row = 0; row < FaultRun::kRows; ++row)
    EXPECT_EQ(run.row(row), expected[static_cast<size_t>(row)]) << row;
}

// The faults of a device that can happen in any batch.
constexpr std::array<const char*, 13> kFaults = {"oom",  "nvml",    "cuda",      "assert", "cublas",
                                                 "late", "refused", "bad_alloc", "abort",  "segv",
                                                 "kill", "exit75",  "hang"};

std::string at_batch(const std::string& fault, int64_t batch) {
  return fault + "@batch:" + std::to_string(batch);
}

// Calls `check` for two batches of a run, or in the test soak.faults for every batch.
void for_batches(const std::function<bool(int64_t batch)>& check) {
  if (!fault_soak()) {
    EXPECT_TRUE(check(1));
    EXPECT_TRUE(check(9));
    return;
  }
  int64_t batch = 1;
  while (check(batch)) ++batch;
  EXPECT_GE(batch, 20) << "the run has too few batches";
  std::cout << fmt::format("count: {} batches\n", batch - 1);
}

// A fault that happens once changes no byte, whatever it is and whenever it comes.
class Once : public ::testing::TestWithParam<const char*> {};

TEST_P(Once, ChangesNoByte) {
  static const std::vector<std::vector<float>> expected = undisturbed({});
  for_batches([&](int64_t batch) {
    FaultRun run;
    const std::string fault = at_batch(GetParam(), batch);
    const FaultRunEnd end = run.run(fault + "*1");
    EXPECT_EQ(end.exit_code, ExitCode::kOk) << batch << ": " << render(end.error);
    expect_undisturbed(run, expected);
    return run.times_happened(fault) == 1;
  });
}

INSTANTIATE_TEST_SUITE_P(Faults, Once, ::testing::ValuesIn(kFaults));

// A device on which the n-th batch of every worker fails. The run ends with a documented exit code.
// When the device works again, the same command gives the bytes of a run without faults.
TEST(Always, PublishesNothingWrong) {
  static const std::vector<std::vector<float>> expected = undisturbed({});
  std::map<int, int> ends;
  const auto check = [&](const char* what, int64_t batch) {
    SCOPED_TRACE(fmt::format("{}, batch {}", what, batch));
    FaultRun run;
    const std::string fault = at_batch(what, batch);
    const FaultRunEnd end = run.run(fault + "*99999");
    ++ends[static_cast<int>(end.exit_code)];
    EXPECT_THAT(static_cast<int>(end.exit_code), AnyOf(0, 65, 69, 70, 75)) << render(end.error);
    EXPECT_EQ(std::filesystem::exists(run.final()), end.exit_code == ExitCode::kOk);
    if (end.exit_code == ExitCode::kOk) expect_undisturbed(run, expected);
    run.environment.retry_set_aside = true;
    const FaultRunEnd again = run.run();
    EXPECT_EQ(again.exit_code, ExitCode::kOk) << render(again.error);
    expect_undisturbed(run, expected);
    return run.times_happened(fault) > 0;
  };
  if (!fault_soak()) {
    check("cuda", 1);
    return;
  }
  for (const char* what : kFaults) for_batches([&](int64_t batch) { return check(what, batch); });
  for (const auto& [code, runs] : ends) std::cout << fmt::format("exit {}: {} runs\n", code, runs);
}

// The code with which a row is set aside.
std::string code_of_row(const std::string& fault) {
  static const std::map<std::string, std::string> kCodes = {
      {"oom", "device.memory"},         {"cuda", "device.cuda"},      {"late", "device.cuda"},
      {"refused", "internal.libtorch"}, {"segv", "worker.died"},      {"kill", "worker.died"},
      {"nan", "vector.not_finite"},     {"inf", "vector.not_finite"}, {"zero", "vector.zero"},
      {"norm", "vector.norm"},          {"hang", "worker.hung"}};
  return kCodes.at(fault);
}

// Runs with rows that fail again and again, because `faults` have `fault` for them. They are found
// and named, and everything else is encoded.
void expect_set_aside(FaultRun& run, const std::string& fault, const std::string& faults,
                      const std::vector<int64_t>& rows) {
  const std::vector<std::vector<float>> expected = undisturbed(rows);
  const FaultRunEnd end = run.run(faults);
  EXPECT_EQ(end.exit_code, ExitCode::kData) << render(end.error) << end.log;
  EXPECT_EQ(end.error.code.name(), "run.rows_set_aside");
  EXPECT_THAT(end.error.found,
              HasSubstr(fmt::format("row {}: [{}]", rows.front(), code_of_row(fault))));
  EXPECT_FALSE(std::filesystem::exists(run.final()));
  EXPECT_TRUE(recorded(run, FaultType::kBadRow, FaultAction::kRowSetAside));

  run.config.store.quarantine = QuarantinePolicy::kZeros;
  run.environment.worker.program = "/no/such/worker";  // another policy needs no model
  ASSERT_EQ(run.run(faults).exit_code, ExitCode::kOk);
  std::vector<int64_t> listed;
  for (const SetAsideRow& row : set_aside_rows(run.final(), *read_manifest(run.final()))) {
    EXPECT_EQ(row.code, code_of_row(fault));
    listed.push_back(row.row);
  }
  EXPECT_EQ(listed, rows);
  for (int64_t row = 0; row < FaultRun::kRows; ++row) {
    const bool poisoned = std::find(rows.begin(), rows.end(), row) != rows.end();
    const std::vector<float>& good = expected[static_cast<size_t>(row)];
    EXPECT_EQ(run.row(row), poisoned ? std::vector<float>(good.size(), 0.0F) : good) << row;
  }
}

void expect_set_aside(const std::string& fault, const std::vector<int64_t>& rows) {
  FaultRun run(rows);
  expect_set_aside(run, fault, fault + "@token:1*9999", rows);
}

// The same for a row that makes every worker fail.
class PoisonRow : public ::testing::TestWithParam<const char*> {};

TEST_P(PoisonRow, IsFoundAndTheRestIsEncoded) {
  if (!fault_soak()) return expect_set_aside(GetParam(), {0, 77});
  for (int64_t row = 0; row < FaultRun::kRows; row += 6) {
    SCOPED_TRACE(fmt::format("row {}", row));
    expect_set_aside(GetParam(), {row});
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, PoisonRow,
                         ::testing::Values("oom", "cuda", "late", "refused", "segv", "kill",
                                           "hang"));

// The same on a GPU, which has begun the next window when the row fails. The windows of this run
// have about two chunks, and the row is in the first batch of its window, because it is the
// longest.
class PoisonRowAhead : public ::testing::TestWithParam<const char*> {};

TEST_P(PoisonRowAhead, IsFoundAndTheRestIsEncoded) {
  constexpr int64_t kLongRow = 76;
  const std::string fault = GetParam();
  FaultRun run({kLongRow});
  run.config.streams[0].speed = {.batch_tokens = 24, .threads = 1};
  expect_set_aside(run, fault, fmt::format("{0}@ahead:1*9999;{0}@token:1*9999", fault), {kLongRow});
  EXPECT_EQ(run.times_happened(fault + "@ahead:1"), 1)
      << "after that each of the two windows has the device for itself";
}

INSTANTIATE_TEST_SUITE_P(Faults, PoisonRowAhead, ::testing::Values("cuda", "segv"));

// The same for a vector that is wrong: of the first, a middle and the last row.
class WrongVector : public ::testing::TestWithParam<const char*> {};

TEST_P(WrongVector, IsNotPublished) { expect_set_aside(GetParam(), {0, 60, FaultRun::kRows - 1}); }

TEST_P(WrongVector, IsNotPublishedInStandardMode) {
  constexpr int64_t kLast = FaultRun::kRows - 1;
  FaultRun run({kLast});
  run.config.store.use_chunked_encoding = false;
  const FaultRunEnd end = run.run(std::string(GetParam()) + "@token:1*9999");
  EXPECT_EQ(end.exit_code, ExitCode::kData);
  EXPECT_EQ(end.error.code.name(), "run.row_failed");
  EXPECT_THAT(end.error.what, HasSubstr(fmt::format("row {} of train_tc", kLast)));
  EXPECT_FALSE(std::filesystem::exists(run.final()));
}

INSTANTIATE_TEST_SUITE_P(Faults, WrongVector, ::testing::Values("nan", "inf", "zero", "norm"));

// Shows that the tests above can fail: without a fault no row is set aside.
TEST(PoisonRow, IsNoOneOnADeviceThatWorks) {
  FaultRun run({0, 77, 119});
  const FaultRunEnd end = run.run();
  EXPECT_EQ(end.exit_code, ExitCode::kOk);
  EXPECT_THAT(end.log, Not(HasSubstr("set aside")));
  EXPECT_THAT(end.log, Not(HasSubstr("starting another worker")));
}

TEST(OutOfMemory, HalvesTheBatchesAndTheNextRunBeginsWithSmallOnes) {
  static const std::vector<std::vector<float>> expected = undisturbed({});
  FaultRun run;
  const FaultRunEnd end = run.run("oom@above:24*9999");
  EXPECT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
  EXPECT_THAT(end.log, HasSubstr("batches of at most 24 tokens"));
  EXPECT_THAT(end.log, Not(HasSubstr("starting another worker")));
  EXPECT_TRUE(recorded(run, FaultType::kOutOfMemory, FaultAction::kBatchHalved));
  expect_undisturbed(run, expected);
  for (const char* path : {"", ".manifest.json"}) std::filesystem::remove(run.final() + path);
  EXPECT_THAT(run.run("oom@above:24*9999").log, Not(HasSubstr("out of memory")));
  expect_undisturbed(run, expected);
}

TEST(OutOfMemory, EndsWith69IfNoRowFits) {
  FaultRun run;
  const FaultRunEnd end = run.run("oom@above:0*99999");
  EXPECT_EQ(end.exit_code, ExitCode::kUnavailable);
  EXPECT_EQ(end.error.code.name(), "device.memory");
}

TEST(Nvml, ComesAgainAndTheNextWorkerDoesWithoutExpandableSegments) {
  FaultRun run;
  const FaultRunEnd end = run.run("nvml@batch:2*1;nvml@batch:3*1");
  EXPECT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
  EXPECT_THAT(end.log, HasSubstr("without expandable segments"));
  EXPECT_TRUE(
      recorded(run, FaultType::kOutOfMemory, FaultAction::kRestartedWithoutExpandableSegments));
  EXPECT_THAT(read_bytes(run.cache("faults.jsonl")), HasSubstr(R"("device.nvml")"));
}

TEST(BrokenDevice, EndsWith70AndBlamesNoRow) {
  FaultRun run;
  const FaultRunEnd end = run.run("cuda@above:0*99999");
  EXPECT_EQ(end.exit_code, ExitCode::kInternal);
  EXPECT_EQ(end.error.code.name(), "worker.every_row");
  // The next run, on a device that works, encodes every row.
  EXPECT_EQ(run.run().exit_code, ExitCode::kOk);
}

TEST(BrokenModel, EndsTheRunInPlaceOfSettingEveryRowAside) {
  std::vector<int64_t> all(FaultRun::kRows);
  std::iota(all.begin(), all.end(), int64_t{0});
  FaultRun run(all);
  const FaultRunEnd end = run.run("nan@token:1*9999");
  EXPECT_EQ(end.exit_code, ExitCode::kData);
  EXPECT_EQ(end.error.code.name(), "vectors.all_bad");
}

TEST(Worker, IsReplacedAfterSomeChunksWithoutARestart) {
  static const std::vector<std::vector<float>> expected = undisturbed({});
  FaultRun run;
  run.config.store.chunk_size = 1;
  run.config.hardware.worker_chunks = 64;  // a window has 64 chunks
  const FaultRunEnd end = run.run();
  EXPECT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
  EXPECT_THAT(end.log,
              HasSubstr("a new worker process replaces the old one: it has encoded 64 chunks"));
  EXPECT_THAT(end.log, Not(HasSubstr("starting another worker")));
  expect_undisturbed(run, expected);
}

}  // namespace
}  // namespace encode::testing
