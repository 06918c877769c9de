// Finds the best rows of a whole matrix, exactly, and the rows that have no vector of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "search/row_scorer.h"
#include "store/matrix/matrix.h"

namespace encode {

struct ScoredRow {
  int64_t row = 0;
  float score = 0;

  bool operator==(const ScoredRow&) const = default;
};

struct WantedRows {
  int64_t count = 10;                     // at least 1
  std::span<const int64_t> but_not = {};  // rows that are never returned, ascending
};

// Returns the best rows that are wanted for each query of the scorer, the best row first; fewer if
// the matrix has fewer. Of two rows with the same score the lower one comes first. The result does
// not depend on the number of threads. Reads the matrix once, in small blocks. Throws Error kData
// "matrix.damaged" if a score is not a number, and what Matrix::stored() throws.
std::vector<std::vector<ScoredRow>> nearest_rows(const Matrix& matrix, const RowScorer& scorer,
                                                 const WantedRows& wanted, ThreadPool& pool);

// Returns the rows whose vector is zeros, ascending: those without tokens, and rows that were set
// aside with `quarantine: zeros`. A quantized row counts if it has the bytes that zeros get. Reads
// the matrix only if its manifest counts such rows. Throws what Matrix::stored() and
// Ranges::of_final() throw.
std::vector<int64_t> zero_rows(const Matrix& matrix);

}  // namespace encode
