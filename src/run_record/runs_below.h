// Finds the runs and outputs in a folder that is not a cache directory itself, for `encode status
// FOLDER`.
#pragma once

#include <string>
#include <vector>

#include "run_record/run_status.h"

namespace encode {

// Returns the outputs and the cache directories in the folder, as arguments for `encode status`.
// Throws what list_directory() throws.
std::vector<std::string> runs_below(const std::string& folder);

// Returns the runs in the folder that are newer than the shown run, the latest first, at most 20. A
// run is newer if it still goes on and the shown run does not, or if it has written its status
// later. Throws what list_directory() throws.
std::vector<RunBelow> newer_runs_below(const std::string& folder, const RunStatus& shown);

// Sets `runs` and `more_runs` of the status. Reads each run that it lists with read_run_status().
// Throws what list_directory() throws. Any thread may call it.
void list_runs_below(const std::string& folder, RunStatus& status);

}  // namespace encode
