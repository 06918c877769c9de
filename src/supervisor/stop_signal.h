// Turns SIGINT, SIGTERM, SIGHUP and SIGUSR1 into a request to stop that a poll() loop can see.
#pragma once

#include "base/file.h"

namespace encode {

// While a StopSignal exists, it records the first SIGINT, SIGTERM, SIGHUP or SIGUSR1 as a request.
// The second signal has its default action: it ends the process, and the worker dies with its
// parent. A signal that was ignored before stays ignored, so that nohup works. The constructor also
// ignores SIGPIPE, so that a run outlives a reader of its log. At most one StopSignal may exist at
// a time. The constructor throws the Error of a failed system call.
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  ~StopSignal();

  int number() const;  // the signal that came; 0: none
  // Becomes readable when a signal comes, and stays readable. The caller must not read from it.
  int fd() const { return read_end_.get(); }

 private:
  UniqueFd read_end_;
  UniqueFd write_end_;
};

}  // namespace encode
