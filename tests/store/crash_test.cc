// Runs a job again and again, each time with one fault: SIGKILL at a system call that changes a
// file, or an error of this call. Every call gets every fault. After each fault the same job must
// finish with the right bytes.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <random>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/file.h"
#include "store/audit.h"
#include "store/snapshot.h"
#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

FakeJob small_job(bool keep_chunks) {
  FakeJob job;
  job.keep_chunks = keep_chunks;
  return job;
}

// Returns what is wrong with a record in the log, or "". After a kill a record may be missing, but
// the files of each record must exist.
std::string record_problem(const std::string& cache, const FakeJob& job) {
  const std::string folder = chunks_dir(cache, job.identity.name);
  if (!std::filesystem::exists(folder + "/stream.json")) return "";
  const ChunkFolder found = read_chunk_folder(folder);
  return found.damaged.empty() ? "" : found.damaged[0].path + ": " + found.damaged[0].wrong;
}

// Kills a run at its k-th system call, for k = 1, 2, ..., until a run makes fewer calls than k.
// Returns the number of calls of a run.
int64_t sweep(FaultMode mode, const FakeJob& job) {
  for (int64_t k = 1;; ++k) {
    const TempDir dir;
    const std::string cache = dir.file("cache");
    const ChildResult result = run_child(cache, job, fault_plan(cache, mode, k));
    EXPECT_TRUE(result.killed || result.exit_code == 0) << "call " << k << ": " << result.message;
    EXPECT_EQ(record_problem(cache, job), "") << "call " << k;
    EXPECT_EQ(resume_problem(cache, job, result.acked), "") << "call " << k;
    if (!result.killed) return k - 1;
  }
}

// The floors below are a little less than the calls that the jobs make today. So a sweep that stops
// early, or hooks that see no calls, cannot pass.
TEST(Crash, KillBeforeEveryCall) { EXPECT_GT(sweep(FaultMode::kKillBefore, small_job(true)), 100); }

TEST(Crash, KillAfterEveryCall) { EXPECT_GT(sweep(FaultMode::kKillAfter, small_job(true)), 100); }

TEST(Crash, KillDuringCleanUpToo) {
  EXPECT_GT(sweep(FaultMode::kKillBefore, small_job(false)), 110);
}

TEST(Crash, KillBeforeEveryCallOfChunksThatAreCommittedTogether) {
  FakeJob job = small_job(true);
  job.together = 3;
  EXPECT_GT(sweep(FaultMode::kKillBefore, job), 80);
}

TEST(Crash, KillBeforeEveryCallOfTokenEmbeddings) {
  FakeJob job = token_embeddings_job();
  job.keep_chunks = false;
  EXPECT_GT(sweep(FaultMode::kKillBefore, job), 150);
}

TEST(Crash, KillBeforeEveryCallOfPassages) {
  FakeJob job = passages_job();
  job.keep_chunks = false;
  EXPECT_GT(sweep(FaultMode::kKillBefore, job), 180);
}

TEST(Crash, KillBeforeEveryCallOfAJobThatSetsRowsAside) {
  FakeJob job = small_job(false);
  job.set_aside = {5, 6, 29};
  EXPECT_GT(sweep(FaultMode::kKillBefore, job), 120);
}

TEST(Crash, KillBeforeEveryCallOfAJobWithAFilter) {
  FakeJob job = filtered_job();
  job.keep_chunks = false;
  EXPECT_GT(sweep(FaultMode::kKillBefore, job), 115);
}

TEST(Crash, KillAfterEveryCallOfAJobWithAFilter) {
  EXPECT_GT(sweep(FaultMode::kKillAfter, filtered_job()), 105);
}

// Shows that the sweeps can fail: other source rows are seen, and so is a file of this name beside
// a matrix of a stream without a filter.
TEST(Crash, ControlOtherSourceRowsAreSeen) {
  const TempDir dir;
  const FakeJob job = filtered_job();
  run_fake_job(dir.path(), job);
  ASSERT_EQ(resume_problem(dir.path(), job, {}), "");
  const std::string final_path = job.final_path(dir.path());
  const std::string path = source_rows_path(final_path);
  const std::string bytes = read_bytes(path);
  std::string other = bytes;
  other.back() ^= 1;
  write_bytes(path, other);
  EXPECT_EQ(final_state(final_path, job.identity, false), FinalState::kDamaged);
  EXPECT_EQ(resume_problem(dir.path(), job, {}), "");
  EXPECT_EQ(read_bytes(path), bytes) << "made again";

  const TempDir plain_dir;
  const FakeJob plain = small_job(true);
  run_fake_job(plain_dir.path(), plain);
  write_bytes(source_rows_path(plain.final_path(plain_dir.path())), bytes);
  EXPECT_NE(resume_problem(plain_dir.path(), plain, {}), "");
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
    // The resumed run is also kFresh and may encode all chunks again, so the list of acknowledged
    // chunks is empty.
    EXPECT_EQ(resume_problem(cache, job, {}), "") << "call " << k;
    if (!result.killed) break;
  }
}

// A job with random settings.
FakeJob random_job(std::mt19937& random) {
  FakeJob job;
  if (const auto kind = random() % 5; kind < 2)
    job = kind == 0 ? token_embeddings_job() : passages_job();
  job.keep_chunks = random() % 2 == 0;
  job.chunk_rows = 1 + static_cast<int64_t>(random() % 9);
  job.identity.rows = 20 + static_cast<int64_t>(random() % 20);
  if (random() % 3 == 0) job.set_aside = {0, 7, 8, 19};
  job.together = static_cast<int64_t>(1 + random() % 3);
  return job;
}

// Every other run is killed a second time, while it goes on.
TEST(Crash, KilledAtRandom) {
  std::mt19937 random(7 + soak_round());
  const int rounds = soak_round() == 0 ? 150 : 2000;
  int kills = 0;
  for (int round = 0; round < rounds; ++round) {
    const TempDir dir;
    const std::string cache = dir.file("cache");
    const FakeJob job = random_job(random);
    std::set<int64_t> acked;
    for (int kill = 0; kill < 1 + round % 2; ++kill) {
      const auto at = static_cast<int64_t>(1 + random() % 120);
      const FaultMode mode = random() % 2 == 0 ? FaultMode::kKillBefore : FaultMode::kKillAfter;
      const ChildResult result = run_child(cache, job, fault_plan(cache, mode, at));
      kills += result.killed ? 1 : 0;
      EXPECT_EQ(record_problem(cache, job), "") << "round " << round;
      for (const int64_t index : result.acked) {
        EXPECT_TRUE(acked.insert(index).second)
            << "round " << round << ": chunk " << index << " encoded twice";
      }
    }
    EXPECT_EQ(resume_problem(cache, job, {acked.begin(), acked.end()}), "") << "round " << round;
  }
  std::cout << fmt::format("count: {} random kills\n", kills);
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
  job.together = 2;
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
    ::testing::Values(ErrnoCase{"NoSpaceOnce", ENOSPC, ExitCode::kIoError, false},
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
                      // The callers retry an interrupted call, without end if every call failed
                      // with EINTR. So only one call fails.
                      ErrnoCase{"InterruptedOnce", EINTR, ExitCode::kOk, false},
                      ErrnoCase{"ShortWriteOnce", 0, ExitCode::kOk, false},
                      ErrnoCase{"ShortWriteFromThen", 0, ExitCode::kOk, true}),
    [](const auto& test) { return std::string(test.param.name); });

// Runs a job that is partly done again, with one fault in a call that only looks at files.
ChildResult look_again(const std::string& cache, const FakeJob& job, const char* call,
                       FaultPlan plan) {
  std::snprintf(plan.call, sizeof plan.call, "%s", call);
  return run_child(
      [&](const std::function<void(int64_t)>& ack) {
        run_fake_job(cache, job, ack);
        ack(1000000 + fault_calls());
      },
      plan);
}

struct LookCase {
  const char* call;
  int least;  // a run makes at least this number of these calls
};

std::ostream& operator<<(std::ostream& out, const LookCase& look) { return out << look.call; }

class Look : public ::testing::TestWithParam<LookCase> {
 protected:
  // Every chunk but one is committed, and there is no final matrix.
  Look() : job_(token_embeddings_job()) {
    job_.set_aside = {5, 6};
    run_fake_job(cache_, job_);
    const std::string log = chunks_dir(cache_, job_.identity.name) + "/chunks.log";
    const std::string text = read_bytes(log);
    write_bytes(log, text.substr(0, text.rfind('\n', text.size() - 2) + 1));
    const std::string final_path = job_.final_path(cache_);
    for (const std::string& path : {final_path, manifest_path(final_path), ledger_path(final_path),
                                    offsets_path(final_path), set_aside_path(final_path)})
      std::filesystem::remove(path);
    committed_ = take_snapshot(cache_);
  }

  // Fails the k-th call, and all later ones if `persistent`. Returns the number of calls of a run
  // that had no fault, or 0 after a fault.
  int64_t run(int64_t k, int error, bool persistent) {
    SCOPED_TRACE(
        fmt::format("call {}, {}{}", k, std::strerror(error), persistent ? ", always" : ""));
    restore_snapshot(cache_, committed_);
    FaultPlan plan = fault_plan(cache_, FaultMode::kErrno, k);
    plan.error = error;
    plan.persistent = persistent;
    ChildResult result = look_again(cache_, job_, GetParam().call, plan);
    EXPECT_EQ(result.signal, 0);
    if (result.exit_code == 0) {
      const int64_t calls = result.acked.back() - 1000000;
      result.acked.pop_back();
      EXPECT_LE(result.acked.size(), 1U) << "a good chunk was encoded again";
      EXPECT_EQ(read_bytes(job_.final_path(cache_)), expected_final(job_));
      if (calls < k) return calls;
    } else {
      ++failed_;
      EXPECT_EQ(result.exit_code, static_cast<int>(exit_code_for_errno(error))) << result.message;
      EXPECT_NE(result.message.find(std::strerror(error)), std::string::npos) << result.message;
    }
    EXPECT_EQ(resume_problem(cache_, job_, result.acked), "");
    return 0;
  }

  const TempDir dir_;
  const std::string cache_ = dir_.file("cache");
  FakeJob job_;
  Snapshot committed_;
  int failed_ = 0;
};

// A run must not take an error for a missing or damaged file.
TEST_P(Look, ErrorOfAnyIsCleanAndResumable) {
  const std::vector<int> errors = soak_round() == 0
                                      ? std::vector<int>{EIO}
                                      : std::vector<int>{EIO, EACCES, ESTALE, ENXIO, ETIMEDOUT};
  for (const int error : errors) {
    for (const bool persistent : {false, true}) {
      int64_t calls = 0;
      failed_ = 0;
      for (int64_t k = 1; calls == 0; ++k) calls = run(k, error, persistent);
      EXPECT_GE(calls, GetParam().least);
      EXPECT_GE(failed_, GetParam().least);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, Look,
                         ::testing::Values(LookCase{"pread", 20}, LookCase{"stat", 5},
                                           LookCase{"fstat", 20}, LookCase{"open_read", 20},
                                           LookCase{"readdir", 2}),
                         [](const auto& test) { return std::string(test.param.call); });

TEST(Failure, InterruptedReadIsRetried) {
  FakeJob job = small_job(true);
  const TempDir dir;
  const std::string cache = dir.file("cache");
  run_fake_job(cache, job);
  for (int64_t k = 1;; ++k) {
    ::unlink(job.final_path(cache).c_str());
    FaultPlan plan = fault_plan(cache, FaultMode::kErrno, k);
    plan.error = EINTR;
    const ChildResult result = look_again(cache, job, "pread", plan);
    ASSERT_EQ(result.exit_code, 0) << "read " << k << ": " << result.message;
    if (result.acked.back() - 1000000 < k) break;
  }
}

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

}  // namespace
}  // namespace encode::testing
