// encode-worker: the child of `encode` that loads the model and fills chunks. Started by `encode`,
// not by people.
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
    std::fputs("encode-worker is started by encode: encode-worker --job FILE --events FD\n",
               stderr);
    return static_cast<int>(encode::ExitCode::kUsage);
  }
  const int code = encode::run_worker(job, events);
  // No unwinding: with a dead CUDA context the destructors of static objects throw.
  std::fflush(nullptr);
  ::_exit(code);
}
