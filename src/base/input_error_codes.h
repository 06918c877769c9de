// The error codes of the files of texts, a part of error_code_table().
#pragma once

#include <vector>

#include "base/error_codes.h"

namespace encode {

std::vector<ErrorCodes> input_error_codes();

}  // namespace encode
