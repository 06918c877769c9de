// The matrices of a run that is done, for its summary.
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

// Warns for each matrix of which rows were truncated.
void warn_of_truncation(const RunSummary& summary, RunLog& log);

}  // namespace encode
