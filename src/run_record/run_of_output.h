// Finds the record of the run that makes, or has made, an output file.
#pragma once

#include <string>

namespace encode {

struct RunOfOutput {
  std::string output;     // the path of the matrix; the file may not exist yet
  std::string stream;     // the name of its stream; "" if the run has only begun
  std::string cache_dir;  // of the run; "" if the run has left none
  std::string model;      // the directory of the model; "" if it is not recorded
};

// Looks beside the file for its manifest, for the cache directory that `--output` makes, and for
// the record that a finished run leaves instead. A file that lies in the cache directory of its run
// is found, too. Changes nothing. Throws Error kNoInput "status.output" if there is neither, and
// what read_manifest() throws. Any thread may call it.
RunOfOutput run_of_output(const std::string& path);

}  // namespace encode
