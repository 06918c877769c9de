// Checks that the vectors with the same number in two matrices belong to the same row. Any thread
// may call the function.
#pragma once

#include <string>

#include "encode/error_code.h"

namespace encode {

// The parts of the Error of an operation on two matrices that lack different rows.
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
