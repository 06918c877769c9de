// Turns the record of a run into the JSON for the page. Any thread may call these functions.
#pragma once

#include "base/json.h"
#include "run_record/run_status.h"

namespace encode {

// The most points of a chart, evenly spaced from the first sample to the last.
inline constexpr size_t kTimelinePoints = 400;

// The functions do not throw Error.
Json run_json(const RunStatus& status);
Json timeline_json(const RunStatus& status);
Json faults_json(const RunStatus& status);

}  // namespace encode
