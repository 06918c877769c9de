// `encode report`: what a run has made, from its files alone.
#pragma once

#include <string>

#include "base/json.h"
#include "config/load.h"
#include "run_record/run_of_output.h"

namespace encode {

// Returns what the manifest of a finished matrix records of its run: one stream with its input and
// its options. `model` is a directory, or "" for the one that the run's record names. Throws Error
// kNoInput "report.unfinished" if there is no manifest, kUsage "report.combined" for a combined
// matrix, and what read_manifest() and recorded_options() throw.
LoadedConfig config_of_output(const RunOfOutput& run, const std::string& model);

// Reads the record of a run and samples of its finals and texts. Never takes the lock and never
// changes a file. What cannot be read becomes a sentence that names the file, in "problems"; what
// the run has not made yet becomes a sentence in "missing". Throws Error "status.directory" as
// read_run_status() does.
Json collect_report(const LoadedConfig& config);

// Writes the page, synced. Throws Error kCantCreate "report.foreign" if `path` is a file that is no
// report, and what AtomicFile throws.
void write_report(const std::string& path, const Json& report);

}  // namespace encode
