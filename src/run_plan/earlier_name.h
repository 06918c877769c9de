// Finds results that carry the name that earlier versions gave to the stream of a run of flags.
#pragma once

#include <string>

#include "encode/config.h"

#include "run_plan/plan.h"

namespace encode {

// The name of the stream of every run of flags without --output, before such streams were named by
// their input and model. Runs of a config file without output.file still have it.
inline constexpr const char* kEarlierStreamName = "embeddings";

// Gives the stream its earlier name and final path if the cache directory has a result of exactly
// this stream under the earlier name, finished or not, and none under the new name. Returns true
// then. Does nothing for the streams of `data` and for a run with an output file. `stream` must
// have its identity. Throws Error kIoError or kNoPermission if the result cannot be read.
bool take_earlier_name(const RunConfig& config, StreamPlan& stream);

}  // namespace encode
