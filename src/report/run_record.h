// The record of a run as the page shows it.
#pragma once

#include "base/json.h"
#include "run_record/run_status.h"

namespace encode {

// At most this many points of a chart, evenly from the first sample to the last.
inline constexpr size_t kTimelinePoints = 400;

// The functions do not throw Error.
Json run_json(const RunStatus& status);
Json timeline_json(const RunStatus& status);
Json faults_json(const RunStatus& status);

}  // namespace encode
