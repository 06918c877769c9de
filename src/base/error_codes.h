// All error codes, for docs/errors.md and its tests.
#pragma once

#include <string_view>
#include <vector>

namespace encode {

struct ErrorCodes {
  std::vector<std::string_view> codes;  // codes with the same meaning: "gzip.corrupt"
  // The exit codes as docs/errors.md writes them: "65", "78 or 64", "66 (77, 74)". "-": the error
  // ends no command.
  std::string_view exits;
  std::string_view meaning;  // one line of Markdown
};

// ErrorDetail::code is always one of these codes. tests/base/error_codes_test.cc checks this in the
// sources, and writes the table into docs/errors.md if ENCODE_REFRESH=1.
const std::vector<ErrorCodes>& error_code_table();

}  // namespace encode
