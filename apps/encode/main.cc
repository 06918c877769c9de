// encode: turns text files into embedding matrices. Runs a command and prints its error.
// "Read it" in README.md shows the way from here to the code that runs the model.
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "encode/error.h"

#include "command_line.h"

int main(int argc, char** argv) {
  using encode::ExitCode;
  encode::ErrorDetail detail;
  try {
    return encode::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const encode::Error& error) {
    detail = error.detail();
  } catch (const std::bad_alloc&) {
    detail = {.exit_code = ExitCode::kOsError,
              .code = "os.memory",
              .what = "out of host memory",
              .where = "encode",
              .expected = "free host memory",
              .found = "a failed allocation",
              .hint = "give the job more memory; committed chunks are kept"};
  } catch (const std::exception& error) {
    detail = {.exit_code = ExitCode::kInternal,
              .code = "internal",
              .what = error.what(),
              .where = "encode",
              .expected = "no failure",
              .found = "an unexpected exception",
              .hint = "this is a defect of encode; please report it"};
  }
  std::fprintf(stderr, "%s\n", encode::render(detail).c_str());
  return static_cast<int>(detail.exit_code);
}
