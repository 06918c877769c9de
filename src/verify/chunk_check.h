// Checks of a stream's chunk folder, without changing anything in it.
#pragma once

#include <string>
#include <vector>

#include "verify/findings.h"
#include "verify/verify.h"

namespace encode {

// `final_is_complete`: an unfinished folder is then only a left-over. A folder that is not there is
// no finding.
void check_chunk_folder(const ExpectedMatrix& matrix, const std::string& cache_dir,
                        bool final_is_complete, Findings& findings);

// Temp files of crashed writers in the cache directory itself.
void check_cache_dir(const std::string& cache_dir, Findings& findings);

}  // namespace encode
