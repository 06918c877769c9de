// Finds results under the name that earlier versions gave to the stream of a run without a config
// file. Any thread may call the function.
#pragma once

#include "encode/config.h"

#include "run_plan/plan.h"

namespace encode {

// Earlier versions gave this name to the stream of every run that has neither a config file nor
// --output. Now the name of such a stream is made of the input, the field and the model. Runs with
// a config file but without output.file still use this name.
inline constexpr const char* kEarlierStreamName = "embeddings";

// Gives the stream its earlier name and final path if the cache directory has a result of exactly
// this stream under the earlier name, finished or not, and has none under the new name; returns
// true in this case. Does nothing for the streams of `data` and for a run with an output file.
// `stream` must have its identity. Throws Error kIoError or kNoPermission if the result cannot be
// read.
bool take_earlier_name(const RunConfig& config, StreamPlan& stream);

}  // namespace encode
