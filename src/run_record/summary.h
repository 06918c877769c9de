// The summary of a run: a table of its matrices, and totals. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/empty_rows.h"
#include "base/json.h"
#include "model_dir/truncation.h"

namespace encode {

struct FinishedMatrix {
  std::string name;
  std::string path;
  int64_t rows_in = 0;  // records of the input; the rows, if the matrix is a combined one
  int64_t rejected = 0;
  std::string rejected_path = {};  // the list of these rows; "" if there are none
  int64_t filtered = 0;            // records that the filter left out
  int64_t dropped = 0;             // rows that were set aside that were dropped
  int64_t rows = 0;                // the rows of the matrix
  int64_t dim = 0;
  int64_t tokens = 0;
  Truncation truncation;
  double tokens_per_second = 0;  // 0: nothing was encoded in this run
  bool combined = false;         // made by `combine` from other matrices
  EmptyRows empty_rows = {};     // rows of the input that were encoded without a text
  int64_t passages = 0;          // that the rows were cut into; 0: they were not cut
};

// How often, and for how long, the workers were short of host memory (MemoryPressure).
struct PressureTotals {
  int64_t times = 0;
  double seconds = 0;
};

struct RunSummary {
  std::vector<FinishedMatrix> matrices;
  bool chunked = true;  // false: the standard mode
  double seconds = 0;
  int64_t peak_host_bytes = 0;  // the peak of encode plus the peak of the largest worker
  std::string host_memory;      // "host memory 38.7% (38.4 GB available)"
  PressureTotals pressure;
  bool already_complete = false;  // all matrices were complete before the run began
  bool retried = false;           // the run was started to encode failed rows again
};

// Returns several lines; each ends in '\n'. Throws no Error.
std::string render(const RunSummary& summary);
Json to_json(const RunSummary& summary);

// Throws Error kInternal if rows_in != rows + rejected + filtered + dropped for any matrix.
void check_rows(const RunSummary& summary);

}  // namespace encode
