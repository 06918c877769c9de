// Checks the chunk folder of a stream. These functions only read.
#pragma once

#include <string>

#include "verify/findings.h"
#include "verify/verify.h"

namespace encode {

// Adds findings about the chunk folder of `matrix`, or none if the folder does not exist. If
// `final_is_complete`, a folder with missing chunks gives only a warning: an interrupted clean-up
// left it.
void check_chunk_folder(const ExpectedMatrix& matrix, const std::string& cache_dir,
                        bool final_is_complete, Findings& findings);

// Adds a warning for each temporary file that a crashed writer left in the cache directory itself.
void check_cache_dir(const std::string& cache_dir, Findings& findings);

}  // namespace encode
