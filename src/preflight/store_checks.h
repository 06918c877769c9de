// Checks the cache directory, the outputs, the room for them, and the results of earlier runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/config.h"
#include "encode/store.h"

#include "preflight/experiment.h"
#include "preflight/findings.h"

namespace encode {

// Tries the cache directory, or the directory in which a run would create it, and the log. Looks
// whether another run holds the lock, but does not take it.
void check_cache_directory(const RunConfig& config, PreflightFindings& findings);

// Says that a run goes on without the embedding cache for this reason.
std::string without_cache(const ErrorDetail& error);
// Returns true if the directory has something that a worker must look at. Otherwise tries whether
// an embedding cache can be made there. A problem is yellow.
bool probe_embedding_cache(const std::string& dir, PreflightFindings& findings);

// Checks that no output would replace a foreign file, reads the inputs, and checks what a run
// checks then: the columns, the room on the disk, the combined matrices, the quarantine.
void check_outputs_and_plan(const RunConfig& config, CheckedExperiment& experiment,
                            PreflightFindings& findings);

// What a run will find of a stream.
struct StreamOutlook {
  bool finished = false;                  // the final is there, or is made without chunks
  bool encoded = false;                   // no row is left to encode
  int64_t rows_set_aside = 0;             // of the committed chunks
  std::vector<ChunkOrigin> origins = {};  // of the committed chunks
};

// Checks that the chunks and matrices that exist belong to this experiment, and that the files of a
// run can be written. Returns an outlook for each stream of `experiment`.
std::vector<StreamOutlook> check_results(const RunConfig& config,
                                         const CheckedExperiment& experiment,
                                         PreflightFindings& findings);

// Returns true if nothing is left to encode. Reads every final and every chunk.
bool is_complete(const RunConfig& config, const CheckedExperiment& experiment);

}  // namespace encode
