// Runs jobs whose final matrix is a table, each time with one fault: SIGKILL at a system call that
// changes a file, or a full disk from this call on. Every call gets every fault. After each fault
// the same job must finish with the right bytes.
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "encode/exit_code.h"

#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

// table_job() runs once in this process, so the plugin is open before the children are forked.
FakeJob job_of_chunks(MatrixFormat file) {
  FakeJob job = table_job(file);
  job.keep_chunks = false;
  job.chunk_rows = 15;
  return job;
}

// Kills a run at its k-th system call, for k = 1, 2, ..., until a run makes fewer calls than k.
// Returns the number of calls of a run.
int64_t sweep(FaultMode mode, MatrixFormat file) {
  const FakeJob job = job_of_chunks(file);
  for (int64_t k = 1;; ++k) {
    const TempDir dir;
    const std::string cache = dir.file("cache");
    const ChildResult result = run_child(cache, job, fault_plan(cache, mode, k));
    EXPECT_TRUE(result.killed || result.exit_code == 0) << "call " << k << ": " << result.message;
    EXPECT_EQ(torn_file(cache, job), "") << "call " << k;
    EXPECT_EQ(resume_problem(cache, job, result.acked), "") << "call " << k;
    if (!result.killed) return k - 1;
  }
}

class TableCrash : public ::testing::TestWithParam<MatrixFormat> {};

INSTANTIATE_TEST_SUITE_P(Formats, TableCrash,
                         ::testing::Values(MatrixFormat::kParquet, MatrixFormat::kArrow),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST_P(TableCrash, KillBeforeEveryCall) {
  EXPECT_GT(sweep(FaultMode::kKillBefore, GetParam()), 50);
}

TEST_P(TableCrash, KillAfterEveryCall) { EXPECT_GT(sweep(FaultMode::kKillAfter, GetParam()), 50); }

TEST_P(TableCrash, FullDiskFromEveryCallOn) {
  const FakeJob job = job_of_chunks(GetParam());
  int64_t failed = 0;
  for (int64_t k = 1;; ++k) {
    const TempDir dir;
    const std::string cache = dir.file("cache");
    FaultPlan plan = fault_plan(cache, FaultMode::kErrno, k);
    plan.error = ENOSPC;
    plan.persistent = true;
    const ChildResult result = run_child(cache, job, plan);
    EXPECT_EQ(result.signal, 0) << "call " << k;
    if (result.exit_code != 0) {
      ++failed;
      EXPECT_EQ(result.exit_code, static_cast<int>(ExitCode::kIoError)) << result.message;
    }
    EXPECT_EQ(torn_file(cache, job), "") << "call " << k;
    EXPECT_EQ(resume_problem(cache, job, result.acked), "") << "call " << k;
    if (result.exit_code == 0 && k > 60) break;  // the clean-up at the end tolerates a full disk
  }
  EXPECT_GT(failed, 20);
}

// Shows that the sweeps can fail: a final matrix with one other byte is seen.
TEST_P(TableCrash, ControlTornTableIsSeen) {
  const FakeJob job = job_of_chunks(GetParam());
  const TempDir dir;
  run_fake_job(dir.path(), job);
  EXPECT_EQ(torn_file(dir.path(), job), "");
  write_bytes(job.final_path(dir.path()), job.table.substr(0, job.table.size() - 1));
  EXPECT_NE(torn_file(dir.path(), job), "");
}

}  // namespace
}  // namespace encode::testing
