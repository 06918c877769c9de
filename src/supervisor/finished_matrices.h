// Lists the matrices of a finished run, for its summary.
#pragma once

#include <vector>

#include "encode/config.h"

#include "run_plan/plan.h"
#include "run_record/run_log.h"
#include "run_record/summary.h"
#include "supervisor/run_reporter.h"

namespace encode {

// Returns the matrix of each stream and each combined matrix. Throws the errors of read_manifest().
std::vector<FinishedMatrix> finished_matrices(const StoreOptions& store, const RunPlan& plan,
                                              const RunReporter& reporter);

// Logs a warning for each matrix with truncated rows. `config` is the config of the run.
void warn_of_truncation(const RunSummary& summary, const RunConfig& config, RunLog& log);

}  // namespace encode
