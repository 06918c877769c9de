// Injects faults into system calls. The library replaces the calls that change files (open with
// O_CREAT, write, fsync, rename, ...) and the OFD lock, and counts the calls on paths under `root`.
// All threads share one counter, while `when=` of strace counts for each thread. The library can be
// linked into a test, or loaded into any program:
//
//   FAULT_ROOT=/tmp/cache FAULT_MODE=kill_before FAULT_AT=17 LD_PRELOAD=libencode_fault.so encode
#pragma once

#include <cstdint>

namespace encode::testing {

enum class FaultMode {
  kNone,
  kKillBefore,    // SIGKILL instead of the call
  kKillAfter,     // SIGKILL right after the call
  kErrno,         // the call fails with `error`
  kShortWrite,    // write() writes half of the bytes
  kLyingWrite,    // write() writes half of the bytes and reports all: the store must survive this
  kDropFileSync,  // fsync of a file does nothing: a test with a power cut must notice this
  kDropDirSync,   // fsync of a directory does nothing
  kDropDataSync,  // fdatasync does nothing
  kDropLock,      // locking always succeeds, as on a broken network file system
};

struct FaultPlan {
  FaultMode mode = FaultMode::kNone;
  char root[256] = "";      // an absolute path; calls on other paths are not counted
  char call[16] = "";       // counts only this call ("fsync"); "": counts all calls
  int64_t at = 0;           // the fault hits the at-th counted call, from 1; 0: every call
  bool persistent = false;  // the fault also hits all calls after the at-th
  int error = 0;            // the errno of kErrno
  void (*after_call)(int64_t count) = nullptr;  // called after each counted call
};

// Sets the plan and resets the counter.
void set_fault_plan(const FaultPlan& plan);
int64_t fault_calls();  // the number of counted calls so far

// Under every plan, the process ends with one of these statuses if the store does something that it
// must never do.
inline constexpr int kSyncedAgainStatus = 99;  // it called fsync again after fsync had failed
inline constexpr int kLockRemovedStatus = 98;  // it unlinked or renamed LOCK

}  // namespace encode::testing
