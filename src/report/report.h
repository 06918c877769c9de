// `encode report`: shows what a run has made, from its files alone. Any thread may call these
// functions.
#pragma once

#include <string>

#include "base/json.h"
#include "config/load.h"
#include "run_record/run_of_output.h"

namespace encode {

// Returns what the manifest of a matrix, or the job of an unfinished run, records of the run: one
// stream with its input and its options; no stream if the run has not begun to encode. `model` is
// the directory of the model; if it is "", the recorded directory is taken. Throws Error kUsage
// "report.combined" for a combined matrix, and what read_manifest() and recorded_options() throw.
LoadedConfig config_of_output(const RunOfOutput& run, const std::string& model);

// Reads the record of a run and samples of its final matrices and texts. Never takes the lock and
// never changes a file. Whatever cannot be read becomes a sentence in "problems" that names the
// file, and whatever the run has not made yet becomes a sentence in "missing". Throws Error
// "status.directory" as read_run_status() does.
Json collect_report(const LoadedConfig& config);

// Writes the page, synced. Throws Error kCantCreate "report.foreign" if `path` is a file that is no
// report, and what AtomicFile throws.
void write_report(const std::string& path, const Json& report);

}  // namespace encode
