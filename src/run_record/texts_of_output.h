// Finds the texts that a matrix was made of. Any thread may call this function.
#pragma once

#include <string>
#include <vector>

#include "encode/store.h"

#include "run_record/run_of_output.h"

namespace encode {

struct TextsOfOutput {
  std::vector<std::string> paths;  // of all files, in their order; empty if some are missing
  std::string missing = {};  // a file that is in none of the folders, as the manifest names it
  std::vector<std::string> searched = {};  // the folders; empty for an absolute path
};

// Returns the files that the manifest of `run.output` names. A relative path is looked for in the
// current directory, then in the directory in which the run was started, and then beside the
// matrix. Takes the first of these places in which every file has its recorded size; if there is
// none, the first place that has every file. Only the hashes of the files prove that they are the
// texts that were encoded. Throws Error "text.open" if the file system does not say whether a file
// exists.
TextsOfOutput texts_of_output(const RunOfOutput& run, const StreamIdentity& identity);

}  // namespace encode
