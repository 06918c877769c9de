// Runs the program `encode` as a child process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/file.h"

namespace encode::testing {

struct ProgramEnd {
  int exit_code = 0;
  int signal = 0;                   // the signal that ended it; 0: none
  double cpu_seconds = 0;           // user and system
  int64_t peak_resident_bytes = 0;  // of encode or of its worker, whichever has the larger peak
  std::string out;
  std::string err;
};

// Runs `encode <arguments>` with the worker that the test target names (FAKE_WORKER_PROGRAM). The
// output goes to files in `directory`, so only one Program at a time may use a directory.
class Program {
 public:
  using Environment = std::map<std::string, std::string>;

  // `before_exec` is called in the child process, after the output is redirected.
  Program(std::string directory, std::vector<std::string> arguments,
          const Environment& environment = {}, const std::function<void()>& before_exec = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();  // kills the process if it still runs

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  ProgramEnd wait();  // may be called once

 private:
  std::string directory_;
  pid_t pid_ = -1;
};

// Returns the arguments of `encode run` with the tiny BERT, the field "text" of `input`, and then
// `more`.
std::vector<std::string> run_words(const std::string& input, const std::string& output,
                                   const std::vector<std::string>& more = {});

// Returns `text` with `folder` in the place of each @.
std::string with_folder(std::string text, const std::string& folder);

}  // namespace encode::testing
