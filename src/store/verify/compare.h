// Compares two matrices row by row, whatever their types and file formats: it compares the numbers
// that the rows stand for (StoredValues). Any thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/types.h"

namespace encode {

struct CompareOptions {
  std::optional<double> max_difference;  // the comparison fails if any |a - b| is larger
  std::optional<double> min_cosine;      // the comparison fails if the cosine of any row is smaller
  int64_t worst_rows = 5;                // the number of worst rows in the report
};

// The distribution of one number per row. `min`, `max` and `mean` are exact. A percentile is the
// value of a row (the nearest rank), exact unless other rows have nearly the same value; then its
// error is at most 0.025 % of the value. For cosines, the value is the distance from 1.
struct Distribution {
  double min = 0;
  double p0_1 = 0;
  double p1 = 0;
  double p50 = 0;
  double mean = 0;
  double p99 = 0;
  double p99_9 = 0;
  double max = 0;
};

struct RowDifference {
  int64_t row = 0;
  double cosine = 0;          // 1 for equal rows; 0 if only one of the rows is zero
  double max_difference = 0;  // the largest |a - b| of the row
  int64_t column = 0;         // the column of max_difference
};

struct CompareReport {
  std::string a_path;
  std::string b_path;
  OutputType a_type = OutputType::kFloat32;
  OutputType b_type = OutputType::kFloat32;
  int64_t rows = 0;
  int64_t dim = 0;
  bool identical = false;       // every value has the same bits, as float32
  int64_t different_rows = 0;   // rows with a difference; rows with NaN or infinity do not count
  int64_t non_finite_rows = 0;  // rows with NaN or infinity; the distributions leave them out
  Distribution cosine;
  Distribution max_difference;
  // Rows with a difference, at most worst_rows. The row with the largest max_difference is first.
  std::vector<RowDifference> worst;
  std::vector<std::string> failures;  // a phrase for each missed limit and for non-finite rows

  ExitCode exit_code() const { return failures.empty() ? ExitCode::kOk : ExitCode::kData; }
};

// Reads both files, or the parts in a list (x.parts.json) one after the other, block by block in
// less than 100 MB of memory. Throws Error: kNoInput, kData "compare.shape" for different shapes,
// kData for a file that is no matrix, what StoredValues::of_file() throws, and kIoError if reading
// fails.
CompareReport compare_matrices(const std::string& a_path, const std::string& b_path,
                               const CompareOptions& options);

std::string render_table(const CompareReport& report);  // for people; ends in '\n'
std::string render_json(const CompareReport& report);   // one line, without '\n'

}  // namespace encode
