// Which exit code a failure of the worker deserves.
#pragma once

#include <exception>

#include "encode/error.h"

namespace encode {

// What to tell the supervisor about the exception being handled: call in a catch block only.
//   Error                 as it says
//   out of device memory  kUnavailable; LibTorch's assertion on NVML hides the same thing
//   other CUDA errors     kTempFail: the context is dead, a new process can go on
//   std::bad_alloc        kTempFail
//   anything else         kInternal
ErrorDetail describe_current_exception();

}  // namespace encode
