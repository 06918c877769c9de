// Starts encode-worker as a child process, with a pipe for events and one for its output.
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
  int code = 0;    // the exit status, if `signal` is 0
  int signal = 0;  // the signal that killed it; 0: none
  int64_t peak_resident_bytes = 0;
};
// Returns "exit status 75" or "killed by signal 9 (Killed)".
std::string describe(const ExitStatus& status);

// Runs `<program> <arguments...> --events <fd>`. The child has a process group of its own, so that
// Ctrl-C reaches only the parent, which then stops the child. The kernel kills the child when the
// thread that started it ends (PR_SET_PDEATHSIG). The standard input of the child is /dev/null; its
// standard output and error go to one pipe. The destructor kills the child and waits for its end.
// Not thread-safe.
class ChildProcess {
 public:
  // The child keeps `inherit_fd` open (the cache lock); -1: none. Throws Error kOsError if the
  // program cannot be started, and the Error of a failed system call.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
               int inherit_fd);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // These functions return the read ends of the two pipes. Both are non-blocking.
  int events_fd() const { return events_.get(); }
  int output_fd() const { return output_.get(); }

  // Sends a signal to the child. Does nothing after abandon() or after try_wait() has returned a
  // status.
  void signal(int number) const;
  std::optional<ExitStatus> try_wait();  // nullopt while the child lives
  // Gives up a child that cannot be killed, so that the destructor does not wait for it.
  void abandon() { pid_ = -1; }

 private:
  pid_t pid_ = -1;
  UniqueFd events_;
  UniqueFd output_;
};

}  // namespace encode
