#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

#include "encode/error.h"

#include "base/system_call.h"
#include "command.h"

namespace encode {

void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // Opened for reading only, so that writing fails. open() returns the lowest number, which is
    // `fd`.
    retried([] { return ::open("/dev/null", O_RDONLY); });
  }
}

void flush_standard_output() {
  std::cout.flush();  // the help is written there
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0 && std::cout.good()) return;
  throw Error({.code = "io.stdout",
               .what = "cannot write to the standard output",
               .where = "standard output",
               .expected = "a reader of the output",
               .found = "a failed write",
               .hint = "run the command again with another output"});
}

}  // namespace encode
