// What a run checks before it hashes its models and reads its inputs, which may take minutes. Any
// thread may call these functions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "encode/config.h"

#include "run_plan/plan.h"

namespace encode {

// Throws Error kUnavailable "device.absent" if every device of the run is an NVIDIA GPU, this
// machine certainly has no driver, and some stream has no result yet. (Whether an existing result
// is complete is known only after the inputs are read.)
void require_driver(const RunConfig& config);

// Tries to write to the directories in which final matrices are missing; see probe_once(), which
// adds to `tried`. `streams` need no scan.
void check_output_directories(const std::vector<StreamPlan>& streams, std::set<std::string>& tried);

}  // namespace encode
