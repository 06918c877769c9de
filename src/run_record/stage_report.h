// What the log, status.json, memory.jsonl and `encode status` say about the stages of a run.
#pragma once

#include <string>

#include "encode/stage_seconds.h"

#include "base/json.h"

namespace encode {

// The largest rate per second, and the largest number of seconds, in the records of a run.
inline constexpr double kMaxRecordedRate = 1e12;
inline constexpr double kMaxRecordedSeconds = 1e12;

// "encoding 96.2%, waiting for input 1.1%, waiting for the disk 2.7% of 11.3 s; in other threads:
// read 0.1 s, ...": the stages of the main thread as shares of its time, then the stages of the
// other threads. "" if no stage has taken time. Does not throw Error.
std::string describe(const StageSeconds& stages);

Json to_json(const StageSeconds& stages);  // {name of the stage: seconds}; does not throw Error
// Throws Error kConfig of JsonFields for a field that is not valid; a missing one is 0.
StageSeconds stage_seconds_from(const JsonFields& fields);

}  // namespace encode
