// Finds the best rows of a whole matrix, exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "matrix/matrix.h"
#include "search/row_scorer.h"
#include "search/top_rows.h"

namespace encode {

// Returns the best `count` rows for each query of the scorer, the best row first; fewer if the
// matrix has fewer rows. Of two rows with the same score the lower one comes first. The result does
// not depend on the number of threads. Reads the matrix once, in small blocks. `count`
// is at least 1. Throws Error kData "matrix.damaged" if a score is not a number, and what
// Matrix::stored() throws.
std::vector<std::vector<ScoredRow>> nearest_rows(const Matrix& matrix, const RowScorer& scorer,
                                                 int64_t count, ThreadPool& pool);

}  // namespace encode
