// Checks one matrix of an audit. It does not change any file.
#pragma once

#include <string>

#include "store/verify/verify.h"

namespace encode {

// The parameters of an audit.
struct Audit {
  const VerifyOptions& options;
  std::string cache_dir;  // the cache directory of the run; "": not known
};

// Adds the summary of a matrix and the findings about it and the files beside it. Returns true if
// it has a manifest and no check failed. Throws what verify_run() throws.
bool check_matrix(const ExpectedMatrix& matrix, const Audit& audit, VerifyReport& report);

}  // namespace encode
