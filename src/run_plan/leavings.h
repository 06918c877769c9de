// Makes the files that a finished run leaves beside its output, apart from the final matrix and its
// files, if the run has a cache directory of its own (has_own_cache()). One thread at a time may
// call these functions.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/store.h"

#include "run_plan/output_guard.h"
#include "run_plan/plan.h"

namespace encode {

// Throws the errors of OutputGuard if a file that encode did not write has the path of the list of
// rejected rows, of the record of the run, or of the list of the input files. Does nothing for
// other runs.
void check_leavings(const StoreOptions& options, const OutputGuard& guard);

// Returns where the list of rejected rows is when a run has ended: beside the output, if the run
// has a cache directory of its own, or else in the cache directory of the user. `list` is the path
// of the list during the run, or "".
std::string lasting_list(const StoreOptions& options, const std::string& list);

// Returns where a run writes the list of the files of a stream (store/file_list.h): beside the
// output, if the run has a cache directory of its own.
std::string file_list_path(const StoreOptions& options, const std::string& stream);

// Publishes the lists of the files of the streams that have one, unless the plan of shards has.
// Throws what write_file_list() throws.
void write_file_lists(const std::vector<StreamPlan>& streams);

// Publishes the list of rejected rows beside the final matrix, or deletes the list of an earlier
// run. Throws what AtomicFile and remove_file() throw.
void leave_rejected_rows(const StreamPlan& stream);

// Publishes the record of the run. If this run has encoded nothing and the existing record is from
// the run that made the matrix, keeps that record. Throws what write_finished_run() throws.
void leave_record(const StreamPlan& stream, const std::string& cache_dir, bool encoded_nothing);

// Removes the cache directory of a run that was refused before it resumed its stream, if the
// directory is of no use: the output is finished and the directory has no chunks, or the run has
// made the directory and has written only records to it. `made` are the directories that the run
// has made, the innermost first; then also removes the empty ones of these. Does nothing for other
// runs. The process must hold the CacheLock. Throws what remove_cache_directory() and
// read_finished_run() throw.
void remove_after_refusal(const RunConfig& config, const std::vector<std::string>& made);

}  // namespace encode
