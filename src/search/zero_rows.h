// The rows of a matrix that have no vector of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "store/matrix/matrix.h"

namespace encode {

// Returns the rows whose vector is zeros, ascending: those without tokens, and those that were set
// aside with `quarantine: zeros`. A quantized row counts if it has the bytes that zeros get. Reads
// the matrix only if its manifest counts such rows. Throws what Matrix::stored() and
// Ranges::of_final() throw.
std::vector<int64_t> zero_rows(const Matrix& matrix);

}  // namespace encode
