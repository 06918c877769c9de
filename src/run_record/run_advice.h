// The advice of `encode status`: what to do next. Any thread may call these functions.
#pragma once

#include <string>

#include "run_record/run_status.h"

namespace encode {

// Returns a sentence with the command, from everything else in `status`. Throws no Error.
std::string next_step(const RunStatus& status);

// Does the same for a run that has lost its cache directory, if one of its matrices is also missing
// or damaged.
std::string next_step_without_cache(const RunStatus& status);

}  // namespace encode
