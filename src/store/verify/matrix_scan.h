// Reads a matrix file once and computes its hashes, the number of its values that are not finite,
// and the norms of its rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/verify/verify.h"

namespace encode {

struct MatrixScan {
  MatrixSummary summary;
  // Each list of examples holds the numbers of the first few rows of its kind.
  std::vector<int64_t> non_finite_examples;
  std::vector<int64_t> zero_examples;
  int64_t off_unit_rows = 0;  // rows with a norm other than 0 and 1 (kUnitNormTolerance)
  std::vector<int64_t> off_unit_examples;
};

// Throws what open_matrix_reader() and MatrixReader throw.
MatrixScan scan_matrix(const std::string& path, const VerifyOptions& options);

// Returns "rows 3, 17, 20 and 5 more" for three of a total of eight rows. Throws no Error.
std::string list_rows(const std::vector<int64_t>& rows, int64_t total);

}  // namespace encode
