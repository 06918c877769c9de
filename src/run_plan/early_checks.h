// What a run checks before it hashes its models and reads its inputs, which may take minutes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "encode/config.h"

#include "run_plan/plan.h"

namespace encode {

// Throws Error kUnavailable "device.absent" if every device of the run is an NVIDIA GPU, this
// machine certainly has no driver, and some stream has no result yet, so that a worker must encode
// it. Whether an earlier result is complete shows only after the inputs are read.
void require_driver(const RunConfig& config);

// Tries to write where the finals of the streams are missing; see probe_once(), which adds to
// `tried`. `streams` need no scan.
void check_output_directories(const std::vector<StreamPlan>& streams, std::set<std::string>& tried);

}  // namespace encode
