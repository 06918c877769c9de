// encode: turns text files into embedding matrices. Runs a command and prints its error.
// "Read on" in README.md shows the way from here to the code that runs the model.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "encode/error.h"

#include "base/process_limits.h"
#include "command.h"

namespace {

encode::ErrorDetail describe(const std::exception& error) {
  // std::thread throws this error if the system refuses a thread.
  const auto* const refused = dynamic_cast<const std::system_error*>(&error);
  if (refused != nullptr && refused->code() == std::errc::resource_unavailable_try_again)
    return encode::thread_error(*refused).detail();
  return {.code = "internal",
          .exit_code = encode::ExitCode::kInternal,
          .what = error.what(),
          .where = "encode",
          .expected = "no failure",
          .found = "an unexpected exception",
          .hint = "this is a defect of encode; please report it"};
}

}  // namespace

int main(int argc, char** argv) {
  using encode::ExitCode;
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond ulimit -f then fails with EFBIG
  encode::fill_standard_descriptors();
  encode::ErrorDetail detail;
  try {
    encode::require_stack();
    const int code = encode::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
    if (code == 0) encode::flush_standard_output();
    return code;
  } catch (const encode::Error& error) {
    detail = error.detail();
  } catch (const std::bad_alloc&) {
    detail = {.code = "os.memory",
              .what = "out of host memory",
              .where = "encode",
              .expected = "free host memory",
              .found = "a failed allocation",
              .hint = "give the job more memory; committed chunks are kept"};
  } catch (const std::exception& error) {
    detail = describe(error);
  }
  std::fprintf(stderr, "%s\n", encode::render(detail).c_str());
  return static_cast<int>(detail.exit_code);
}
