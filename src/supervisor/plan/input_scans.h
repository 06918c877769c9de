// Every input of a run, read once from beginning to end.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/text.h"

#include "supervisor/report/run_log.h"

namespace encode {

struct ScannedInput {
  InputScan scan;
  std::string rejected_path;  // <cache>/<name>.rejected.jsonl; "" where nothing was rejected
};

// In the order of `streams`; rejected rows are listed unless `cache_dir` is ""; as many at once as
// there are processors. Throws the first stream's Error.
std::vector<ScannedInput> scan_inputs(const std::vector<StreamConfig>& streams,
                                      const std::string& cache_dir, RunLog& log);

}  // namespace encode
