// encode: turns text files into embedding matrices. Runs a command and prints its error.
// "Read on" in README.md shows the way from here to the code that runs the model.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

#include "encode/error.h"

#include "base/process_limits.h"
#include "command.h"
#include "run_record/terminal.h"

namespace {

// The column in which render() begins the values of an error.
constexpr size_t kValueColumn = 12;

}  // namespace

int main(int argc, char** argv) {
  using encode::ExitCode;
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond ulimit -f then fails with EFBIG
  encode::fill_standard_descriptors();
  encode::ErrorDetail detail;
  try {
    encode::require_process_limits();
    const int code = encode::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
    if (code == 0) encode::flush_standard_output();
    return code;
  } catch (const std::exception&) {
    detail = encode::current_error();
  }
  const encode::Terminal terminal(STDERR_FILENO);
  std::fprintf(stderr, "%s\n", terminal.wrapped(encode::render(detail), kValueColumn).c_str());
  return static_cast<int>(detail.exit_code);
}
