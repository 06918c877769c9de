// All error codes, for `encode reference errors` and docs/errors.md.
#pragma once

#include <string_view>
#include <vector>

namespace encode {

struct ErrorCodes {
  std::vector<std::string_view> codes;  // codes with the same meaning: "gzip.corrupt"
  // The exit codes as docs/errors.md writes them: "65", "78 or 64", "66 (77, 74)". "-": the error
  // ends no command.
  std::string_view exits;
  std::string_view meaning;   // one line of Markdown
  std::string_view recovery;  // what to do, one line of Markdown; a hint of an error may say more
};

// ErrorDetail::code is always one of these codes. tests/base/error_codes_test.cc checks this in the
// sources.
const std::vector<ErrorCodes>& error_code_table();

}  // namespace encode
