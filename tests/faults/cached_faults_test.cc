// Faults of the device with equal rows and with the embedding cache: a wrong vector is never copied
// to another row, to the cache or out of it.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fault_run.h"
#include "run_record/fault_log.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

// Gives two rows of the input the same text.
void make_equal(const FaultRun& run, size_t row, size_t other, const std::string& text) {
  std::istringstream in(read_bytes(run.dir().file("tc.txt")));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  lines[row] = text;
  lines[other] = text;
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  run.dir().write("tc.txt", all);
}

TEST(EqualRows, AreSetAsideTogether) {
  FaultRun run;
  make_equal(run, 5, 9, "abc Q");
  run.config.store.quarantine = QuarantinePolicy::kZeros;
  const FaultRunEnd end = run.run("nan@token:1*9999");
  ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
  static const std::vector<std::vector<float>> expected = undisturbed({});
  for (int64_t row = 0; row < FaultRun::kRows; ++row) {
    const bool bad = row == 5 || row == 9;
    const std::vector<float> zeros(expected[0].size());
    EXPECT_EQ(run.row(row), bad ? zeros : expected[static_cast<size_t>(row)]) << row;
  }
  const std::string ledger = read_bytes(run.cache("train_tc_embeddings.set_aside.jsonl"));
  EXPECT_EQ(std::count(ledger.begin(), ledger.end(), '\n'), 2) << ledger;
}

class CachedFaults : public ::testing::TestWithParam<const char*> {};

TEST_P(CachedFaults, IsNeverInTheCache) {
  static const std::vector<std::vector<float>> expected = undisturbed({0, 77});
  const TempDir dir;
  for (const std::string& faults : {std::string(GetParam()) + "@token:1*9999", std::string()}) {
    FaultRun run({0, 77});
    run.config.store.quarantine = QuarantinePolicy::kZeros;
    run.config.embedding_cache.dir = dir.file("vectors");
    const FaultRunEnd end = run.run(faults);
    ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
    if (!faults.empty()) continue;
    for (int64_t row = 0; row < FaultRun::kRows; ++row)
      EXPECT_EQ(run.row(row), expected[static_cast<size_t>(row)]) << row;
    EXPECT_THAT(end.log, HasSubstr("2 rows added")) << "the others come from the cache";
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, CachedFaults, ::testing::Values("nan", "inf", "zero", "norm"));

TEST(CachedRunOfAFaultyDevice, GoesOnWithoutTheCacheAfterAWorkerDied) {
  static const std::vector<std::vector<float>> expected = undisturbed({});
  const TempDir dir;
  FaultRun run;
  run.config.embedding_cache.dir = dir.file("vectors");
  const FaultRunEnd end = run.run("segv@batch:9*1");
  ASSERT_EQ(end.exit_code, ExitCode::kOk) << render(end.error);
  EXPECT_THAT(end.log, HasSubstr("the run goes on without the embedding cache"));
  for (int64_t row = 0; row < FaultRun::kRows; ++row)
    EXPECT_EQ(run.row(row), expected[static_cast<size_t>(row)]) << row;
}

}  // namespace
}  // namespace encode::testing
