// The part of error_code_table() for the commands on finished matrices.
#pragma once

#include <vector>

#include "base/error_codes.h"

namespace encode {

std::vector<ErrorCodes> matrix_error_codes();

}  // namespace encode
