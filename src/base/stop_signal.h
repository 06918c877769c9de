// Turns the signals that end a run into a request to stop that a poll() loop can see.
#pragma once

#include "base/file.h"

namespace encode {

// The signals of schedulers and of limits, which ask for a restart of the run: SIGUSR1, SIGUSR2,
// SIGXCPU, SIGALRM and SIGPWR. A run that one of them ends has the exit code 75 (kTempFail).
bool asks_for_restart(int signal_number);
// Makes each of these signals end the process at once with the exit code 75, unless it is ignored.
// By default it would end the process with another code. This is safe at any time, because a run
// survives SIGKILL as well.
void end_at_once_if_asked_for_restart();

// While a StopSignal exists, the first of SIGINT, SIGTERM, SIGHUP and the signals above is recorded
// as a request. The second one ends the process at once, with its default action or with the exit
// code 75, and the worker dies with its parent. A signal that was ignored before stays ignored, so
// that nohup works. The constructor also ignores SIGPIPE, so that a run outlives a reader of its
// log. At most one StopSignal may exist at a time. The constructor throws the Error of a failed
// system call. Any thread may call number() and fd().
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  ~StopSignal();

  int number() const;  // the signal that came; 0: none
  // Becomes readable when a signal comes, and stays readable. The caller must not read from it.
  int fd() const { return pipe_.read_end.get(); }

 private:
  Pipe pipe_;
};

}  // namespace encode
