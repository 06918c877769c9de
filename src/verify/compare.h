// How far two matrices of the same shape are from each other, row by row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"

namespace encode {

struct CompareOptions {
  std::optional<double> max_difference;  // fail above this |a - b|
  std::optional<double> min_cosine;      // fail below this cosine of any row
  int64_t worst_rows = 5;                // to list
};

// Of one number per row. Percentiles are exact to 0.8 % of the value (of its distance from 1 for a
// cosine); min, max and mean are exact.
struct Distribution {
  double min = 0;
  double p1 = 0;
  double p50 = 0;
  double mean = 0;
  double p99 = 0;
  double max = 0;
};

struct RowDifference {
  int64_t row = 0;
  double cosine = 0;          // of two zero rows 1, of a zero row and another 0
  double max_difference = 0;  // max |a - b|
  int64_t column = 0;         // where that is
};

struct CompareReport {
  std::string a_path;
  std::string b_path;
  int64_t rows = 0;
  int64_t dim = 0;
  bool identical = false;       // every value has the same bits
  int64_t non_finite_rows = 0;  // in either; left out of the distributions
  Distribution cosine;
  Distribution max_difference;
  std::vector<RowDifference> worst;   // largest max_difference first
  std::vector<std::string> failures;  // thresholds that were missed, non-finite rows

  ExitCode exit_code() const { return failures.empty() ? ExitCode::kOk : ExitCode::kData; }
};

// Streams both files; memory: a few MB. Throws Error: kNoInput, kData for different shapes or no
// float32 matrix.
CompareReport compare_matrices(const std::string& a_path, const std::string& b_path,
                               const CompareOptions& options);

std::string render_table(const CompareReport& report);  // for people, ends in '\n'
std::string render_json(const CompareReport& report);   // one line, no '\n'

}  // namespace encode
