#pragma once

namespace encode {

// The exit codes of the programs, as constants. They follow sysexits.h, so that a scheduler can act
// on them. docs/errors.md lists them for users.
enum class ExitCode : int {
  kOk = 0,
  kUsage = 64,         // bad command line
  kData = 65,          // bad input rows, values that are not finite, or damage found by verify
  kNoInput = 66,       // an input or model file is missing
  kUnavailable = 69,   // the device is absent, cannot do what was asked for, or is out of memory
  kInternal = 70,      // a defect of encode, or a chunk that failed four times
  kOsError = 71,       // the system refused a process, a file descriptor or memory
  kCantCreate = 73,    // the output or the cache directory cannot be created
  kIoError = 74,       // a read or a write failed, or the disk is full
  kTempFail = 75,      // run the same command again: cache in use, GPU failure, preemption
  kNoPermission = 77,  // permission denied, or a read-only file system
  kConfig = 78,        // the config is invalid, or the cache belongs to another fingerprint
};

}  // namespace encode
