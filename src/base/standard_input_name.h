// How messages name standard input, which a run copies to a file so that it can read it twice. Any
// thread may call this function. It throws no Error.
#pragma once

#include "encode/config.h"
#include "encode/error.h"

namespace encode {

inline constexpr const char* kStandardInputName = "standard input";

// Returns the Error with standard input in place of its copy: a place "run.stdin:2" becomes
// "standard input, line 2", and the hint names the copy, because the user may be unable to make the
// input again. `copy` has the path and the format of the copy.
Error naming_standard_input(const Error& error, const InputOptions& copy);

}  // namespace encode
