// The worker as a process: started with two pipes, ended with its parent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/file.h"

namespace encode {

// How a process ended.
struct ExitStatus {
  int code = 0;    // exit status; meaningful where signal is 0
  int signal = 0;  // the signal that killed it
  int64_t peak_resident_bytes = 0;
};
std::string describe(const ExitStatus& status);  // "exit status 75", "killed by signal 9 (Killed)"

// `<program> <arguments...> --events <fd>` in a process group of its own, so that Ctrl-C reaches
// only the parent, which then stops the child in order. The kernel kills the child when the thread
// that started it ends (PR_SET_PDEATHSIG). Its standard input is /dev/null, its standard output and
// error are one pipe. Destroyed: SIGKILL, reaped.
class ChildProcess {
 public:
  // `inherit_fd`: a descriptor the child keeps open (the cache lock). Throws Error kOsError.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
               int inherit_fd);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  int events_fd() const {
    return events_.get();
  }  // non-blocking; what the child writes to its --events descriptor
  int output_fd() const { return output_.get(); }  // non-blocking

  void signal(int number) const;
  std::optional<ExitStatus> try_wait();  // reaps; nullopt while it lives
  void abandon() { pid_ = -1; }          // never wait for it: it cannot be killed

 private:
  pid_t pid_ = -1;
  UniqueFd events_;
  UniqueFd output_;
};

}  // namespace encode
