// Injects faults into system calls. The library replaces the calls that change files (open with
// O_CREAT, write, fsync, rename, ...) and the calls that take an OFD lock, and counts the calls on
// paths under `root`. If FaultPlan::call names a call that only looks at files ("pread", "stat",
// "fstat", "open_read", "readdir"), it counts this call instead. All threads share one counter.
// (strace is not used, because its `when=` counts for each thread.) The library can be linked into
// a test, or loaded into any program:
//
//   FAULT_ROOT=/tmp/cache FAULT_MODE=kill_before FAULT_AT=17 LD_PRELOAD=libencode_fault.so encode
//
// With FAULT_PROGRAM=encode the mode does nothing in other programs, such as the worker.
#pragma once

#include <cstdint>
#include <string_view>
#include <sys/types.h>

namespace encode::testing {

enum class FaultMode {
  kNone,
  kKillBefore,    // SIGKILL instead of the call
  kKillAfter,     // SIGKILL right after the call
  kErrno,         // the call fails with `error`
  kShortWrite,    // write() writes half of the bytes
  kLyingWrite,    // write() writes half of the bytes and reports that it has written all
  kDropFileSync,  // fsync of a file does nothing
  kDropDirSync,   // fsync of a directory does nothing
  kDropDataSync,  // fdatasync does nothing
  kDropLock,      // F_OFD_SETLK always succeeds, as on a broken network file system
  kDelay,         // the call comes 5 ms late
  kStopBefore,    // SIGSTOP before the call; the process goes on with it after SIGCONT
};

// What a counted call has done to a file or a directory.
struct Change {
  enum class Kind { kCreate, kWrite, kResize, kSync, kRename, kUnlink, kMakeDirectory };

  Kind kind;
  std::string_view path;           // kRename: the old path
  std::string_view new_path = {};  // kRename
  ino_t inode = 0;                 // kCreate, kWrite, kResize, kSync
  int64_t offset = 0;              // kWrite
  std::string_view bytes = {};     // kWrite
  int64_t size = 0;                // kResize: the new size
};

struct FaultPlan {
  FaultMode mode = FaultMode::kNone;
  char root[256] = "";  // an absolute path; calls on other paths are not counted
  char call[16] = "";   // the only call that is counted, such as "fsync"; "" counts all calls
  int64_t at = 0;       // the number (from 1) of the counted call with the fault; 0 for every call
  bool persistent = false;   // true if all calls after the at-th have the fault, too
  int error = 0;             // the errno for kErrno
  bool lock_may_go = false;  // true: LOCK may be unlinked, as a finished run does
  bool drop_locks = false;   // true: as kDropLock, besides `mode`
  // Above 0: statfs() reports this number as the kind of the file system under `root`.
  int64_t file_system = 0;
  void (*before_call)() = nullptr;              // called before each counted call
  void (*after_call)(int64_t count) = nullptr;  // called after each counted call
  // Called after each counted call that has changed or synced something. rmdir() counts as
  // kUnlink.
  void (*on_change)(const Change& change) = nullptr;
};

// Sets the plan and resets the counter.
void set_fault_plan(const FaultPlan& plan);
int64_t fault_calls();  // the number of counted calls so far

// The exit statuses of a process in which the store does something that it must never do.
inline constexpr int kSyncedAgainStatus = 99;  // the store called fsync() again after a failure
inline constexpr int kLockRemovedStatus = 98;  // the store unlinked or renamed LOCK

}  // namespace encode::testing
