// Finds the record of the run that makes, or has made, an output file.
#pragma once

#include <optional>
#include <string>

#include "encode/job.h"

namespace encode {

// Returns what the last run in this cache directory has encoded for the stream, or for any of its
// streams if the name is "". nullopt if no run has begun to encode, or if its job.json cannot be
// read or is of another version. Throws no Error.
std::optional<JobUnit> recorded_unit(const std::string& cache_dir, const std::string& stream);

struct RunOfOutput {
  std::string output;                // the path of the matrix; the file may not exist yet
  std::string stream;                // the name of its stream; "" if the run has only begun
  std::string cache_dir;             // the cache directory of the run; "" if it was removed
  std::string model;                 // the directory of the model; "" if it is not recorded
  std::string directory;             // where the run was started; "" if it is not recorded
  std::optional<JobUnit> unit = {};  // see recorded_unit()
};

// Looks beside the file for its manifest, for the cache directory of a run with `--output`, and for
// the record that a finished run leaves in place of that directory. Also finds the run of a file
// that lies in the cache directory of its run. Changes nothing. Throws Error kNoInput
// "status.output" if none of these exists, and what read_manifest() throws. Any thread may call it.
RunOfOutput run_of_output(const std::string& path);

}  // namespace encode
