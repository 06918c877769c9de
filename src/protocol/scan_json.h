// The scan of an input as JSON, for files that a run of another machine reads. Any thread may call
// these functions.
#pragma once

#include "encode/text.h"

#include "base/json.h"

namespace encode {

// Leaves out the files of a list, and the path of the list, which machines may see at different
// places.
Json to_json(const InputScan& scan);
// Returns the scan without the files that its list has, as a job has it.
InputScan in_job(const InputScan& scan);
// Throws Error kConfig "job.protocol" for JSON that to_json() cannot have written.
InputScan scan_from_json(const Json& json);

}  // namespace encode
