// Checks the cache directory, the outputs, and the room for them.
#pragma once

#include <cstdint>
#include <string>

#include "encode/config.h"

#include "preflight/experiment.h"
#include "preflight/findings.h"

namespace encode {

// Writes, syncs, renames, locks and deletes a temporary file in the directory, as a run does with
// its files. A later run deletes the file if this process is killed. Throws Error for the step that
// fails: "io.create", "io.write", "io.sync", "io.commit", "store.lock", "io.remove".
void probe_directory(const std::string& directory);

// Tries the cache directory, or the directory in which a run would create it. Looks whether another
// run holds its lock, but does not take it.
void check_cache_directory(const RunConfig& config, PreflightFindings& findings);

// Checks that no output would replace a foreign file, and that the chunks and matrices that exist
// belong to this experiment.
void check_results(const RunConfig& config, const CheckedExperiment& experiment,
                   PreflightFindings& findings);

// The bytes that a run writes, at most.
struct SpaceNeeds {
  int64_t finals = 0;          // of all matrices
  int64_t chunks = 0;          // of all streams
  int64_t largest_chunks = 0;  // of one stream; the chunks of others may be deleted before
  int64_t largest_file = 0;
};
SpaceNeeds space_needs(const RunConfig& config, const CheckedExperiment& experiment);

struct SpaceFacts {
  int64_t free_bytes = 0;        // for this user
  int64_t file_limit_bytes = 0;  // ulimit -f; 0: none
};
// Throws Error "io.stat" if the file system does not say it.
SpaceFacts space_facts(const std::string& directory);

void check_space(const SpaceNeeds& needs, const SpaceFacts& facts, const std::string& directory,
                 PreflightFindings& findings);

// The nearest directory above `path`, or `path` itself, that exists. Throws Error "io.stat".
std::string nearest_directory(const std::string& path);

}  // namespace encode
