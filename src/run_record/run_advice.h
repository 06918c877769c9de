// What `encode status` tells a person to do next.
#pragma once

#include <string>

#include "run_record/run_status.h"

namespace encode {

// Returns a sentence with the command, from everything else in `status`. If the cache directory of
// the run is there, this may look into the directories below it. Throws the Error of
// list_directory().
std::string next_step(const RunStatus& status);

// The same for a run whose cache directory is gone and of which a matrix is missing or damaged.
std::string next_step_without_cache(const RunStatus& status);

}  // namespace encode
