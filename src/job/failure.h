// Turns exceptions in the worker into errors with an exit code.
#pragma once

#include <exception>

#include "encode/error.h"

namespace encode {

// Describes the exception that is being handled. Must be called in a catch block. The exit code is:
//   Error                 the code of the Error
//   out of device memory  kUnavailable
//   other CUDA errors     kTempFail, because a new process has a new CUDA context
//   std::bad_alloc        kTempFail
//   anything else         kInternal
// Throws nothing itself.
ErrorDetail describe_current_exception();

}  // namespace encode
