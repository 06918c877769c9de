// What a finished run with a cache directory of its own (has_own_cache()) leaves beside its output,
// apart from the final and its files.
#pragma once

#include <string>
#include <vector>

#include "encode/store.h"

#include "run_plan/output_guard.h"
#include "run_plan/plan.h"

namespace encode {

// Throws the errors of OutputGuard if a file that encode did not write has the path of the list of
// rejected rows, or of the record of the run. Does nothing for other runs.
void check_leavings(const StoreOptions& store, const OutputGuard& guard);

// Publishes the list of rejected rows beside the final, or deletes the list of an earlier run.
// Throws what AtomicFile and remove_file() throw.
void leave_rejected_rows(const StreamPlan& stream);

// Publishes the record of the run, unless the record of the run that has made this matrix is there
// and this run has encoded nothing. Throws what write_finished_run() throws.
void leave_record(const StreamPlan& stream, const std::string& cache_dir, bool encoded_nothing);

}  // namespace encode
