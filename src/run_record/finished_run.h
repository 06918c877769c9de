// The record of a finished run whose cache directory was removed: .x.npy.run.json beside x.npy. It
// holds what `encode status` and `encode report` show about the run. docs/store-format.md describes
// the file. Any thread may call these functions.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "run_record/record_file.h"

namespace encode {

struct FinishedRun {
  std::string xxh3_128;  // of the matrix that the run has made
  std::string model;     // the directory of the model, absolute
  Json status;           // the last status.json
  Records faults;        // the newest of faults.jsonl
  Records memory;        // some of memory.jsonl, evenly spaced
};

std::string finished_run_path(const std::string& output);  // "a/.x.npy.run.json"

// Reads the records of the run from its cache directory. What cannot be read is left out. Throws no
// Error.
FinishedRun collect_finished_run(const std::string& cache_dir);

// Publishes the record beside the output and syncs it. Throws what AtomicFile throws.
void write_finished_run(const std::string& output, const FinishedRun& run);

// Returns nullopt if there is no record. Throws Error kData "store.damaged" if it is damaged,
// kConfig "store.format" if another version has written it, and kIoError or kNoPermission.
std::optional<FinishedRun> read_finished_run(const std::string& output);

// Returns true if a file has the path of the record and is not such a record, not even a damaged
// one. Throws kIoError or kNoPermission.
bool is_foreign_finished_run(const std::string& output);

}  // namespace encode
