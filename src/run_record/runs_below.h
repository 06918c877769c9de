// The runs and outputs in a folder that is no cache directory itself, for `encode status FOLDER`.
#pragma once

#include <string>
#include <vector>

#include "run_record/run_status.h"

namespace encode {

// Returns the outputs and the cache directories in the folder, as `encode status` takes them.
// Throws what list_directory() throws.
std::vector<std::string> runs_below(const std::string& folder);

// Returns the runs in the folder that go on, while the shown one does not, or that have written
// their status later: the 20 latest, the latest first. Throws what list_directory() throws.
std::vector<RunBelow> newer_runs_below(const std::string& folder, const RunStatus& shown);

// Sets `runs` and `more_runs` of the status. Reads each run that it lists with read_run_status().
// Throws what list_directory() throws. Any thread may call it.
void list_runs_below(const std::string& folder, RunStatus& status);

}  // namespace encode
