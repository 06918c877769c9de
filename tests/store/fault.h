// Faults in system calls. The library interposes the calls that change files (open with O_CREAT,
// write, fsync, rename,
// ..., and the OFD lock) and counts those that touch paths under `root`. Linked into a test, or
// loaded into any program:
//   FAULT_ROOT=/tmp/cache FAULT_MODE=kill_before FAULT_AT=17 LD_PRELOAD=libencode_fault.so encode
//   ...
// One counter for all threads; strace's `when=` counts per thread.
#pragma once

#include <cstdint>

namespace encode::testing {

enum class FaultMode {
  kNone,
  kKillBefore,    // SIGKILL instead of the call
  kKillAfter,     // SIGKILL right after it
  kErrno,         // the call fails with `error`
  kShortWrite,    // write() takes half
  kLyingWrite,    // write() takes half and says all: a defect the store must survive
  kDropFileSync,  // fsync of a file does nothing: a defect that a power cut shows
  kDropDirSync,   // fsync of a directory does nothing
  kDropDataSync,  // fdatasync does nothing
  kDropLock,      // locking always succeeds, as on a broken network file system
};

struct FaultPlan {
  FaultMode mode = FaultMode::kNone;
  char root[256] = "";      // absolute; calls on other paths are not counted
  char call[16] = "";       // count only this call ("fsync"); "": all
  int64_t at = 0;           // hit the at-th counted call, from 1; 0: every one
  bool persistent = false;  // and all after it
  int error = 0;
  void (*after_call)(int64_t count) = nullptr;  // called after each counted call
};

// Starts a new count.
void set_fault_plan(const FaultPlan& plan);
int64_t fault_calls();

// Whatever the plan, the process ends with these statuses on what the store must never do.
inline constexpr int kSyncedAgainStatus = 99;  // fsync of a file whose fsync has failed
inline constexpr int kLockRemovedStatus = 98;  // unlink or rename of LOCK

}  // namespace encode::testing
