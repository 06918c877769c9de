// Reads every input of a run once, to count its rows and hash it.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/text.h"

#include "run_record/run_log.h"

namespace encode {

struct ScannedInput {
  InputScan scan;
  std::string rejected_path;  // <cache>/<name>.rejected.jsonl; "" if no list was written
};

// Returns the scans in the order of `streams`. Reads as many inputs at once as there are
// processors. Writes the list of rejected rows of each input, unless `cache_dir` is "". If several
// inputs fail, throws the Error of the first stream among them.
std::vector<ScannedInput> scan_inputs(const std::vector<StreamConfig>& streams,
                                      const std::string& cache_dir, RunLog& log);

}  // namespace encode
