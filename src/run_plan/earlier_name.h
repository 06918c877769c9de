// Finds results under the name that earlier versions gave to the stream of a run that only flags
// describe. Any thread may call the function.
#pragma once

#include <string>

#include "encode/config.h"

#include "run_plan/plan.h"

namespace encode {

// Earlier versions gave this name to the stream of every run that only flags describe and that has
// no --output; now its name is made of the input and the model. Runs of a config file without
// output.file still use it.
inline constexpr const char* kEarlierStreamName = "embeddings";

// Gives the stream its earlier name and final path if the cache directory has a result of exactly
// this stream under the earlier name, finished or not, and none under the new name. Returns true
// then. Does nothing for the streams of `data` and for a run with an output file. `stream` must
// have its identity. Throws Error kIoError or kNoPermission if the result cannot be read.
bool take_earlier_name(const RunConfig& config, StreamPlan& stream);

}  // namespace encode
