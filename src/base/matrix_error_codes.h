// The part of error_code_table() for matrices: their formats, and the commands that read
// finished ones.
#pragma once

#include <vector>

#include "base/error_codes.h"

namespace encode {

std::vector<ErrorCodes> matrix_error_codes();

}  // namespace encode
