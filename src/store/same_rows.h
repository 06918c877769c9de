// Matrices of which each vector belongs to the same row as the vector of the same number in another
// matrix. Any thread may call the function.
#pragma once

#include <string>

#include "encode/error_code.h"

namespace encode {

// How an operation on two matrices says that they lack different rows.
struct RowsRefusal {
  ErrorCode code;
  std::string what;
  std::string hint;
};

// Throws the Error of `refusal` if the matrices lack different rows. A matrix without a manifest
// lacks none. Throws what read_manifest() and read_vector_rows() throw.
void require_same_rows(const std::string& first_path, const std::string& path,
                       const RowsRefusal& refusal);

}  // namespace encode
