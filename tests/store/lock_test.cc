// Tests the lock on a cache directory between processes.
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encode/error.h"

#include "base/json.h"
#include "store/audit.h"
#include "store/torture.h"
#include "support/temp_dir.h"

namespace encode::testing {
namespace {

using ::testing::HasSubstr;

// A child process that holds the lock until it is killed.
class Owner {
 public:
  explicit Owner(const std::string& cache, bool lock_inherited = false) {
    EXPECT_EQ(::pipe(ready_), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const CacheLock lock = CacheLock::acquire(cache);
      // The grandchild stands for the worker. It still runs after the owner has been killed.
      worker_ = lock_inherited ? ::fork() : -1;
      if (worker_ != 0 && ::write(ready_[1], &worker_, sizeof worker_) != sizeof worker_)
        ::_exit(97);
      while (true) ::pause();
    }
    EXPECT_EQ(::read(ready_[0], &worker_, sizeof worker_), static_cast<ssize_t>(sizeof worker_));
  }
  ~Owner() {
    kill_owner();
    kill_worker();
    ::close(ready_[0]);
    ::close(ready_[1]);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  void kill_owner() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // Kills the owner and does not wait for it, so it becomes a zombie.
  void kill_owner_without_waiting() const {
    ::kill(pid_, SIGKILL);
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void kill_worker() {
    if (worker_ > 0) ::kill(worker_, SIGKILL);
    worker_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  int ready_[2] = {};
  pid_t pid_ = -1;
  pid_t worker_ = -1;
};

ErrorDetail acquire_error(const std::string& cache) {
  try {
    CacheLock::acquire(cache);
  } catch (const Error& error) {
    return error.detail();
  }
  return {.code = {}, .exit_code = ExitCode::kOk, .what = ""};
}

// Tries to take the lock for up to two seconds. The kernel frees the lock of the killed grandchild
// a moment after kill() returns, and a test cannot wait for a grandchild.
bool acquired_within_two_seconds(const std::string& cache) {
  for (int i = 0; i < 200; ++i) {
    if (acquire_error(cache).exit_code == ExitCode::kOk) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Lock, SecondRunIsToldWhoHoldsItAtOnce) {
  const TempDir dir;
  const Owner owner(dir.path());
  const auto start = std::chrono::steady_clock::now();
  const ErrorDetail error = acquire_error(dir.path());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(error.exit_code, ExitCode::kTempFail);
  EXPECT_EQ(error.code.name(), "store.locked");
  EXPECT_THAT(error.found, HasSubstr(fmt::format("process {}", owner.pid())));
}

TEST(Lock, KilledOwnerLeavesNoStaleLock) {
  const TempDir dir;
  Owner owner(dir.path());
  owner.kill_owner();
  EXPECT_EQ(acquire_error(dir.path()).exit_code, ExitCode::kOk);
}

TEST(Lock, LivesAsLongAsAChildThatInheritedIt) {
  const TempDir dir;
  Owner owner(dir.path(), /*lock_inherited=*/true);
  owner.kill_owner();
  EXPECT_EQ(acquire_error(dir.path()).exit_code, ExitCode::kTempFail);
  owner.kill_worker();
  EXPECT_TRUE(acquired_within_two_seconds(dir.path()));
}

TEST(Lock, SaysAtOnceThatTheOwnerHasEndedWhileItsWorkerHoldsIt) {
  const TempDir dir;
  Owner owner(dir.path(), /*lock_inherited=*/true);
  EXPECT_FALSE(read_lock_state(dir.path()).owner_ended);
  owner.kill_owner_without_waiting();
  for (int i = 0; i < 2; ++i) {
    const LockState state = read_lock_state(dir.path());
    EXPECT_EQ(state.held, LockState::Held::kYes);
    EXPECT_TRUE(state.owner_ended) << (i == 0 ? "a zombie" : "no process");
    owner.kill_owner();
  }
  EXPECT_THAT(acquire_error(dir.path()).found, HasSubstr("which has ended"));
}

// On another machine, in another container or after a restart of the machine, the same number may
// be that of another process.
TEST(Lock, DoesNotCallAnOwnerEndedThatItCannotSee) {
  const TempDir dir;
  Owner owner(dir.path(), /*lock_inherited=*/true);
  owner.kill_owner();
  const std::string written = read_bytes(dir.file("LOCK"));
  ASSERT_TRUE(read_lock_state(dir.path()).owner_ended);
  for (const std::string key : {"host", "boot_id", "pid_namespace"}) {
    Json other = Json::parse(written);
    other[key] = "another";
    dir.write("LOCK", other.dump());
    EXPECT_FALSE(read_lock_state(dir.path()).owner_ended) << key;
    other.erase(key);
    dir.write("LOCK", other.dump());
    EXPECT_FALSE(read_lock_state(dir.path()).owner_ended) << "as an earlier version: " << key;
  }
}

TEST(Lock, ClosingAnotherDescriptorOfTheFileDoesNotFreeIt) {
  const TempDir dir;
  const CacheLock lock = CacheLock::acquire(dir.path());
  read_bytes(dir.file("LOCK"));  // opens and closes the file, which drops a classic POSIX lock
  EXPECT_EQ(acquire_error(dir.path()).exit_code, ExitCode::kTempFail);
}

TEST(Lock, FreedByItsDestructor) {
  const TempDir dir;
  { const CacheLock lock = CacheLock::acquire(dir.path()); }
  EXPECT_EQ(acquire_error(dir.path()).exit_code, ExitCode::kOk);
}

TEST(Lock, IsOursUntilAnotherRunHasWrittenItsToken) {
  const TempDir dir;
  const CacheLock lock = CacheLock::acquire(dir.path());
  EXPECT_EQ(lock.token().size(), 16);
  EXPECT_NO_THROW(require_lock(dir.path(), lock.token()));
  Json other = Json::parse(read_bytes(dir.file("LOCK")));
  other["token"] = "0123456789abcdef";
  other["host"] = "node7";
  dir.write("LOCK", other.dump());
  try {
    require_lock(dir.path(), lock.token());
    FAIL() << "the lock is another's";
  } catch (const Error& error) {
    EXPECT_EQ(error.detail().code.name(), "store.taken");
    EXPECT_EQ(error.exit_code(), ExitCode::kTempFail);
    EXPECT_THAT(error.detail().found, HasSubstr("node7"));
  }
}

// An earlier version writes no token, and another run may be writing its name just now.
TEST(Lock, IsNotLostToAFileThatDoesNotSay) {
  const TempDir dir;
  const CacheLock lock = CacheLock::acquire(dir.path());
  Json other = Json::parse(read_bytes(dir.file("LOCK")));
  other.erase("token");
  for (const std::string& content : {other.dump(), std::string(), std::string("{\"pid\":12")}) {
    dir.write("LOCK", content);
    EXPECT_NO_THROW(require_lock(dir.path(), lock.token())) << content;
  }
  std::filesystem::remove(dir.file("LOCK"));
  EXPECT_NO_THROW(require_lock(dir.path(), lock.token())) << "no file";
}

TEST(Lock, FileSystemWithoutLocksIsRefused) {
  const TempDir dir;
  FaultPlan plan = fault_plan(dir.path(), FaultMode::kErrno, 1);
  plan.error = ENOLCK;
  std::snprintf(plan.call, sizeof plan.call, "lock");
  const ChildResult result = run_child(dir.path(), FakeJob(), plan);
  EXPECT_EQ(result.exit_code, static_cast<int>(ExitCode::kIoError));
  EXPECT_THAT(result.message, HasSubstr("store.lock"));
}

// The directory of an attempt at a shard belongs to one run, whose worker commits there.
TEST(Lock, ADirectoryOfOneRunNeedsNoLocks) {
  for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP, EIO}) {
    const TempDir dir;
    FaultPlan plan = fault_plan(dir.path(), FaultMode::kErrno, 0);
    plan.error = error;
    std::snprintf(plan.call, sizeof plan.call, "lock");
    const FakeJob job;
    const ChildResult result = run_child(
        [&](const std::function<void(int64_t)>& ack) {
          const CacheLock lock = CacheLock::acquire(dir.path(), CacheLock::Need::kIfPossible);
          if (lock.excludes()) return;
          require_lock(dir.path(), lock.token());
          ChunkStore::open(dir.path(), job.identity, job.chunk_rows, ChunkStore::Open::kResume);
          const auto joined =
              ChunkStore::open(dir.path(), job.identity, job.chunk_rows, ChunkStore::Open::kJoin);
          for (const int64_t index : {1, 0}) ack(commit_chunk(*joined, index, job).index);
          joined->claim(2);  // several workers cannot do without locks
        },
        plan);
    EXPECT_EQ(result.exit_code, static_cast<int>(ExitCode::kIoError)) << error;
    EXPECT_EQ(result.acked.size(), error == EIO ? 0U : 2U) << "EIO is the control";
    EXPECT_EQ(resume_problem(dir.path(), job, result.acked), "");
  }
}

TEST(Lock, ALockThatIsOnlyTakenIfPossibleExcludesOthersWhereThereAreLocks) {
  const TempDir dir;
  const CacheLock lock = CacheLock::acquire(dir.path(), CacheLock::Need::kIfPossible);
  EXPECT_TRUE(lock.excludes());
  EXPECT_EQ(acquire_error(dir.path()).code.name(), "store.locked");
}

// Runs without locks delete each other's temporary files, so that a final matrix can lack its
// manifest. A later run then refuses it and asks the user to move it away.
void move_unknown_files_away(const std::string& final_path) {
  for (std::string path; !(path = foreign_final_file(final_path)).empty();)
    std::filesystem::remove(path);
}

// Starts 2 to 8 runs at once. With locks, each chunk is encoded once, and a run that cannot have
// the lock ends with kTempFail. The data must be right afterwards, even if the locks do nothing.
void race(FaultMode mode, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    const TempDir dir;
    const std::string cache = dir.file("cache");
    const FakeJob job;
    std::vector<ChildResult> results(static_cast<size_t>(2 + round % 7));
    {
      std::vector<std::thread> runs;
      for (ChildResult& result : results) {
        runs.emplace_back([&] { result = run_child(cache, job, fault_plan(cache, mode, -1)); });
      }
      for (std::thread& run : runs) run.join();
    }
    size_t succeeded = 0;
    size_t encoded = 0;
    for (const ChildResult& result : results) {
      EXPECT_EQ(result.signal, 0);
      succeeded += result.exit_code == 0 ? 1 : 0;
      encoded += result.acked.size();
      if (mode == FaultMode::kNone) {
        EXPECT_TRUE(result.exit_code == 0 ||
                    result.exit_code == static_cast<int>(ExitCode::kTempFail))
            << result.message;
      }
    }
    if (mode == FaultMode::kNone) {
      EXPECT_GE(succeeded, 1U);
      EXPECT_EQ(encoded, 8U) << "each chunk is encoded once";
    }
    if (mode == FaultMode::kDropLock) move_unknown_files_away(job.final_path(cache));
    EXPECT_EQ(resume_problem(cache, job, {}), "");
  }
}

TEST(Lock, OfSeveralRunsOneWorks) { race(FaultMode::kNone, 100); }

TEST(Lock, BrokenLocksCostWorkButNoData) { race(FaultMode::kDropLock, 50); }

// A finished run deletes LOCK and its directory while it holds the lock. A waiting process then
// gets the lock of a deleted file, which does not protect the directory.
TEST(Lock, AWaitingProcessGetsTheLockOfANewFileIfTheOldOneIsDeleted) {
  const TempDir dir;
  const std::string cache = dir.file("cache");
  std::optional<CacheLock> first(CacheLock::acquire(cache));
  std::thread waiting([&] {
    const CacheLock second = CacheLock::acquire(cache);
    EXPECT_TRUE(std::filesystem::exists(cache + "/LOCK"));
    EXPECT_EQ(acquire_error(cache).code.name(), "store.locked");
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  std::filesystem::remove_all(cache);
  first.reset();
  waiting.join();
}

}  // namespace
}  // namespace encode::testing
