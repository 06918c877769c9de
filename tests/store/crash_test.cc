// Runs a job again and again, each time with one fault: SIGKILL at a system call that changes a
// file, or an error of this call. Every call gets every fault. After each fault the same job must
// finish with the right bytes.
#include <cerrno>
#include <cstdlib>
#include <random>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/file.h"
#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

FakeJob small_job(bool keep_chunks) {
  FakeJob job;
  job.keep_chunks = keep_chunks;
  return job;
}

// Kills a run at its k-th system call, for k = 1, 2, ..., until a run makes fewer calls than k.
// Returns the number of calls of a run.
int64_t sweep(FaultMode mode, const FakeJob& job) {
  for (int64_t k = 1;; ++k) {
    const TempDir dir;
    const std::string cache = dir.file("cache");
    const ChildResult result = run_child(cache, job, fault_plan(cache, mode, k));
    EXPECT_TRUE(result.killed || result.exit_code == 0) << "call " << k << ": " << result.message;
    EXPECT_EQ(resume_problem(cache, job, result.acked), "") << "call " << k;
    if (!result.killed) return k - 1;
  }
}

TEST(Crash, KillBeforeEveryCall) { EXPECT_GT(sweep(FaultMode::kKillBefore, small_job(true)), 100); }

TEST(Crash, KillAfterEveryCall) { EXPECT_GT(sweep(FaultMode::kKillAfter, small_job(true)), 100); }

TEST(Crash, KillDuringCleanUpToo) {
  EXPECT_GT(sweep(FaultMode::kKillBefore, small_job(false)), 110);
}

TEST(Crash, KillBeforeEveryCallOfTokenEmbeddings) {
  FakeJob job = token_embeddings_job();
  job.keep_chunks = false;
  EXPECT_GT(sweep(FaultMode::kKillBefore, job), 150);
}

TEST(Crash, KillWhileStartingOverFresh) {
  for (int64_t k = 1;; ++k) {
    const TempDir dir;
    const std::string cache = dir.file("cache");
    FakeJob old = small_job(true);
    old.identity.fingerprint = R"({"seed":0})";
    run_fake_job(cache, old);
    FakeJob job = small_job(true);
    job.open = ChunkStore::Open::kFresh;
    const ChildResult result = run_child(cache, job, fault_plan(cache, FaultMode::kKillBefore, k));
    // The resumed run is also kFresh, so it may encode all chunks again. So no chunk is passed as
    // acknowledged.
    EXPECT_EQ(resume_problem(cache, job, {}), "") << "call " << k;
    if (!result.killed) break;
  }
}

TEST(Crash, KilledTwiceAtRandom) {
  const char* soak_round = std::getenv("STORE_SOAK");
  std::mt19937 random(soak_round == nullptr ? 7 : static_cast<unsigned>(std::atoi(soak_round)));
  for (int round = 0; round < 150; ++round) {
    const TempDir dir;
    const std::string cache = dir.file("cache");
    FakeJob job = small_job(round % 2 == 0);
    job.chunk_rows = 1 + static_cast<int64_t>(random() % 9);
    std::set<int64_t> acked;
    for (int kill = 0; kill < 2; ++kill) {
      const auto at = static_cast<int64_t>(1 + random() % 90);
      const ChildResult result =
          run_child(cache, job, fault_plan(cache, FaultMode::kKillBefore, at));
      for (const int64_t index : result.acked) {
        EXPECT_TRUE(acked.insert(index).second)
            << "round " << round << ": chunk " << index << " encoded twice";
      }
    }
    EXPECT_EQ(resume_problem(cache, job, {acked.begin(), acked.end()}), "") << "round " << round;
  }
}

// Shows that this test can fail: resume_problem() notices an acknowledged chunk that is lost.
TEST(Crash, ControlLostChunkIsSeen) {
  const TempDir dir;
  const std::string cache = dir.file("cache");
  const FakeJob job = small_job(true);
  const ChildResult result = run_child(cache, job, fault_plan(cache, FaultMode::kKillBefore, 60));
  ASSERT_FALSE(result.acked.empty());
  ::unlink((chunks_dir(cache, job.identity.name) + "/chunk_0000.npy").c_str());
  EXPECT_NE(resume_problem(cache, job, result.acked), "");
}

struct ErrnoCase {
  const char* name;
  int error;
  ExitCode exit_code;
  bool persistent;
};

std::ostream& operator<<(std::ostream& out, const ErrnoCase& fault) { return out << fault.name; }

class Failure : public ::testing::TestWithParam<ErrnoCase> {};

TEST_P(Failure, OfAnyCallIsCleanAndResumable) {
  const ErrnoCase fault = GetParam();
  FakeJob job = small_job(false);
  job.chunk_rows = 10;
  int64_t failed_runs = 0;
  for (int64_t k = 1;; ++k) {
    const TempDir dir;
    const std::string cache = dir.file("cache");
    FaultPlan plan =
        fault_plan(cache, fault.error == 0 ? FaultMode::kShortWrite : FaultMode::kErrno, k);
    plan.error = fault.error;
    plan.persistent = fault.persistent;
    int64_t calls = 0;
    const ChildResult result = run_child(
        [&](const std::function<void(int64_t)>& ack) {
          run_fake_job(cache, job, ack);
          ack(1000000 + fault_calls());  // sends the number of calls; no chunk has such an index
        },
        plan);
    std::vector<int64_t> acked = result.acked;
    if (result.exit_code == 0) {
      calls = acked.back() - 1000000;
      acked.pop_back();
      EXPECT_EQ(read_bytes(job.final_path(cache)), expected_final(job))
          << "call " << k << ": the run succeeded with a wrong final";
    } else {
      ++failed_runs;
      EXPECT_EQ(result.signal, 0) << "call " << k;
      EXPECT_EQ(result.exit_code, static_cast<int>(fault.exit_code))
          << "call " << k << ": " << result.message;
    }
    EXPECT_EQ(resume_problem(cache, job, acked), "") << "call " << k << ": " << result.message;
    if (result.exit_code == 0 && calls < k) break;
  }
  EXPECT_EQ(failed_runs > 20, fault.exit_code != ExitCode::kOk) << failed_runs << " runs failed";
}

INSTANTIATE_TEST_SUITE_P(
    Errors, Failure,
    ::testing::Values(
        ErrnoCase{"NoSpaceOnce", ENOSPC, ExitCode::kIoError, false},
        ErrnoCase{"NoSpaceFromThen", ENOSPC, ExitCode::kIoError, true},
        ErrnoCase{"QuotaOnce", EDQUOT, ExitCode::kIoError, false},
        ErrnoCase{"QuotaFromThen", EDQUOT, ExitCode::kIoError, true},
        ErrnoCase{"IoErrorOnce", EIO, ExitCode::kIoError, false},
        ErrnoCase{"IoErrorFromThen", EIO, ExitCode::kIoError, true},
        ErrnoCase{"ReadOnlyOnce", EROFS, ExitCode::kNoPermission, false},
        ErrnoCase{"ReadOnlyFromThen", EROFS, ExitCode::kNoPermission, true},
        ErrnoCase{"DeniedOnce", EACCES, ExitCode::kNoPermission, false},
        ErrnoCase{"DeniedFromThen", EACCES, ExitCode::kNoPermission, true},
        ErrnoCase{"NoDescriptorsOnce", EMFILE, ExitCode::kOsError, false},
        ErrnoCase{"NoDescriptorsFromThen", EMFILE, ExitCode::kOsError, true},
        // Injects EINTR only once. Callers retry after EINTR, so they would retry forever.
        ErrnoCase{"InterruptedOnce", EINTR, ExitCode::kIoError, false},
        ErrnoCase{"ShortWriteOnce", 0, ExitCode::kOk, false},
        ErrnoCase{"ShortWriteFromThen", 0, ExitCode::kOk, true}),
    [](const auto& test) { return std::string(test.param.name); });

// A write() stores half of the bytes and reports that it has stored all of them. The checksums must
// find the bad file before it is used.
TEST(Failure, LyingWriteIsFoundByTheNextReader) {
  const FakeJob job = small_job(true);
  for (int64_t k = 1; k < 60; ++k) {
    const TempDir dir;
    const std::string cache = dir.file("cache");
    FaultPlan plan = fault_plan(cache, FaultMode::kLyingWrite, k);
    run_child(cache, job, plan);
    EXPECT_EQ(resume_problem(cache, job, {}), "") << "call " << k;
  }
}

// This test and the next show that fault.cc notices a second fsync() and a removed lock file.
TEST(Failure, ControlSecondSyncAfterAFailureIsSeen) {
  const TempDir dir;
  FaultPlan plan = fault_plan(dir.path(), FaultMode::kErrno, 1);
  plan.error = EIO;
  std::snprintf(plan.call, sizeof plan.call, "fsync");
  const std::string path = dir.write("file", "x");
  const ChildResult result = run_child(
      [&](const auto&) {
        const UniqueFd fd = open_for_reading(path, "test");
        EXPECT_NE(::fsync(fd.get()), 0);
        ::fsync(fd.get());
      },
      plan);
  EXPECT_EQ(result.exit_code, kSyncedAgainStatus);
}

TEST(Failure, ControlRemovedLockIsSeen) {
  const TempDir dir;
  const std::string path = dir.write("LOCK", "");
  const ChildResult result = run_child([&](const auto&) { ::unlink(path.c_str()); },
                                       fault_plan(dir.path(), FaultMode::kNone, 0));
  EXPECT_EQ(result.exit_code, kLockRemovedStatus);
}

}  // namespace
}  // namespace encode::testing
