// encode-worker: loads the model and encodes the chunks. `encode` starts it as a child process;
// users do not start it. "Read on" in README.md shows the way from here to the code that runs the
// model.
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>

#include "encode/error.h"

#include "job/worker.h"

int main(int argc, char** argv) {
  std::string job;
  int events = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const std::string_view value = argv[i + 1];
    if (flag == "--job") job = value;
    if (flag == "--events") std::from_chars(value.data(), value.data() + value.size(), events);
  }
  if (job.empty() || events < 0) {
    std::fputs("usage: encode-worker --job FILE --events FD (encode starts this program)\n",
               stderr);
    return static_cast<int>(encode::ExitCode::kUsage);
  }
  const int code = encode::run_worker(job, events);
  // Ends without the destructors of static objects, which throw after a fatal CUDA error.
  std::fflush(nullptr);
  ::_exit(code);
}
