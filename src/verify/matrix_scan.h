// One pass over a matrix file: hashes, finite values, norms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verify/verify.h"

namespace encode {

struct MatrixScan {
  MatrixSummary summary;
  std::vector<int64_t> non_finite_examples;  // the first few row numbers
  std::vector<int64_t> zero_examples;
  int64_t off_unit_rows = 0;  // neither zero nor of norm 1 within kUnitTolerance
  std::vector<int64_t> off_unit_examples;
};

inline constexpr double kUnitTolerance = 1e-3;

// Throws Error: kNoInput, kData.
MatrixScan scan_matrix(const std::string& path, const VerifyOptions& options);

std::string list_rows(const std::vector<int64_t>& rows,
                      int64_t total);  // "rows 3, 17, 20 and 5 more"

}  // namespace encode
