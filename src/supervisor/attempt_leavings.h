// What becomes of the directories of attempts (store/attempt_folders.h). Only files whose names a
// run gives are touched. One thread at a time may call these functions.
#pragma once

#include <string>
#include <vector>

#include "encode/config.h"

#include "run_plan/plan.h"

namespace encode {

// Returns true if the run of this attempt has certainly ended: it has said so, or its process on
// this machine has ended. Throws no Error.
bool has_ended(const std::string& attempt);
bool has_chunk_folders(const std::string& attempt);  // throws what list_directory() throws

// Copies what an earlier run has recorded about failures, memory and the files of the models. What
// cannot be copied is left out.
void copy_records(const std::string& from, const std::string& attempt);
// Moves the records of a run, except for its lock, its log and a copy of standard input. Throws
// Error kIoError and kNoPermission.
void move_records(const std::string& attempt, const std::string& cache_dir);

// These functions get the options of an attempt, whose final matrices are published.
//
// Moves the chunks that the attempt has kept to the user's cache directory, and deletes those that
// an earlier run has left there. Throws what remove_chunks() throws.
void leave_chunks(const StoreOptions& store, const RunPlan& plan);
// Deletes the attempt itself, and each other one that has chunks of the same streams or has ended,
// unless it is seen at work. Chunks of other streams stay. Throws Error kIoError and kNoPermission.
void remove_superseded_attempts(const StoreOptions& store, const RunPlan& plan);
// Deletes the matrices that an attempt has made and not published, and what an interruption has
// left of them, at the path of the user. Throws the same.
void remove_unpublished(const StoreOptions& store, const std::string& final_path);
// Deletes the directory of an attempt and its chunks of these streams. Throws the same.
void remove_attempt_of(const StoreOptions& store, const std::vector<StreamConfig>& streams);
// Deletes the directory of an attempt that has no chunks. `stream` is any of its streams. Throws
// the same.
void remove_attempt_without_chunks(const StoreOptions& store, const std::string& stream);

}  // namespace encode
