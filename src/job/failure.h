// Classifies an exception in the worker: says whether the worker can go on, and makes the error
// with its exit code. Any thread may call the function.
#pragma once

#include "encode/error.h"

namespace encode {

enum class FailureKind {
  kOutOfDeviceMemory,  // the device works, and a smaller batch may fit
  kNvml,               // the allocator could not ask NVML about the memory, which is probably full
  kDeviceLost,         // the CUDA context cannot be used any more; a new process gets a new one
  kOther,              // anything else, for example an Error
};

struct Failure {
  FailureKind kind = FailureKind::kOther;
  ErrorDetail error;
};

// Classifies the exception that is being handled. Must be called in a catch block. The exit code
// is:
//   Error                 the code of the Error
//   out of device memory  kUnavailable
//   NVML, lost device     kTempFail, because a new process has a new CUDA context
//   std::bad_alloc        kTempFail
//   anything else         kInternal
// Does not throw.
Failure current_failure();

}  // namespace encode
