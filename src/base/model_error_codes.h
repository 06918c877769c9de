// The part of error_code_table() for model directories.
#pragma once

#include <vector>

#include "base/error_codes.h"

namespace encode {

std::vector<ErrorCodes> model_error_codes();

}  // namespace encode
