// Every error code with its exit codes, its meaning and its recovery: the only place that states
// them. `encode reference errors` prints docs/errors.md from this table.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "encode/exit_code.h"

namespace encode {

// One row of the table. Codes with the same meaning share a row: "gzip.corrupt zstd.corrupt".
struct ErrorFacts {
  std::string_view codes;  // separated by spaces
  // The first one is the default exit code. The others occur too, mostly for failed system calls
  // (exit_code_for_errno()). Unused entries are kOk. If all are kOk, the error never ends a
  // command.
  std::array<ExitCode, 4> exits;
  std::string_view meaning;   // one line of Markdown
  std::string_view recovery;  // what to do, one line of Markdown; the hint of an error may say more
};

// Removes the first code from the codes of a row, and returns it.
constexpr std::string_view take_code(std::string_view& codes) {
  const std::string_view first = codes.substr(0, codes.find(' '));
  codes.remove_prefix(std::min(codes.size(), first.size() + 1));
  return first;
}

// Returns all rows. Their codes are kErrorCodes, in the same order.
std::span<const ErrorFacts> error_table();

}  // namespace encode
