// The part of error_code_table() for downloads.
#pragma once

#include <vector>

#include "base/error_codes.h"

namespace encode {

std::vector<ErrorCodes> download_error_codes();

}  // namespace encode
