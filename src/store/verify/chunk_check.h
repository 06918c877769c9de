// Checks the chunk folder of a stream. These functions do not change any file.
#pragma once

#include <string>

#include "store/verify/verify.h"
#include "store/verify/verify_findings.h"

namespace encode {

// Adds findings about the chunk folder of `matrix`. Adds none if the folder does not exist. If
// `final_is_complete` is true, missing chunks are only a warning, because the run has probably been
// interrupted while it deleted the chunks.
void check_chunk_folder(const ExpectedMatrix& matrix, const std::string& cache_dir,
                        bool final_is_complete, Findings& findings);

// Returns advice for a matrix that does not exist or has no manifest, if a run has begun it: in a
// cache directory of its own, or in `cache_dir` unless that is "". Returns "" if no run is known.
std::string advice_on_unfinished(const std::string& path, const std::string& cache_dir);

// Adds a warning for each temporary file that a crashed writer left in the cache directory itself.
// Throws what verify_run() throws.
void check_cache_dir(const std::string& cache_dir, Findings& findings);

}  // namespace encode
