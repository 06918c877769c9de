// Reads every input of a run once, to count its rows and hash it. One thread at a time may call
// these functions.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/error.h"
#include "encode/text.h"

#include "run_plan/plan.h"
#include "run_record/run_log.h"

namespace encode {

struct ScannedInput {
  InputScan scan;
  std::string rejected_path = {};  // <cache>/<name>.rejected.jsonl; "" if no list was written
  double seconds = 0;
};

// Returns the scans in the order of `streams`. Reads as many inputs at once as there are
// processors. Writes the list of rejected rows of each input if the purpose is kRun. If several
// inputs fail, throws the Error of the first stream among them.
std::vector<ScannedInput> scan_inputs(const std::vector<StreamPlan>& streams,
                                      const StoreOptions& store, PlanPurpose purpose, RunLog& log);

// Warns of rows of the input that are encoded and probably not as intended: rows with bytes that
// are not UTF-8, and rows without a text. `scan` must be set.
void warn_of_rows(const StreamPlan& stream, RunLog& log);

// Returns the Error with the name of standard input in place of the path of its copy.
Error naming_standard_input(const Error& error, const std::vector<StreamPlan>& streams);

}  // namespace encode
