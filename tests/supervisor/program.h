// The program `encode` as a child process, for tests of what only a whole program shows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/file.h"

namespace encode::testing {

struct ProgramEnd {
  int exit_code = 0;
  int signal = 0;                   // that ended it
  double cpu_seconds = 0;           // user and system
  int64_t peak_resident_bytes = 0;  // of the largest of the program and its children
  std::string out;
  std::string err;
};

// Runs `encode <arguments>` with the fake worker. One at a time in a directory: its output goes to
// files there.
class Program {
 public:
  using Environment = std::map<std::string, std::string>;

  Program(std::string directory, std::vector<std::string> arguments,
          const Environment& environment = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();  // SIGKILL where it still runs

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  ProgramEnd wait();

 private:
  std::string directory_;
  pid_t pid_ = -1;
};

}  // namespace encode::testing
