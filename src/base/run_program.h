// Runs another program to its end and takes its output. Any thread may call this function.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"

namespace encode {

struct ProgramOutput {
  int exit_code = 0;     // 128 plus the number of the signal if a signal ended the program
  std::string out = {};  // the first MiB of the standard output
  std::string err = {};  // the first MiB of the standard error
};

// Runs the program `words[0]`, which is looked for in PATH unless it is a path. No shell is
// involved. `input` is its standard input. Waits until the program ends. Returns nullopt if there
// is no such program. Throws the Error of a failed system call, with the code `code`.
std::optional<ProgramOutput> run_program(const std::vector<std::string>& words,
                                         std::string_view input, ErrorCode code);

}  // namespace encode
