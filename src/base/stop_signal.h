// Turns the signals that end a run into a request to stop, which a poll() loop can wait for.
#pragma once

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <thread>

#include "base/file.h"

namespace encode {

// The signals of schedulers and of limits, which ask for a restart of the run. A run that one of
// them ends has the exit code 75 (kTempFail).
inline constexpr std::array kRestartSignals = {SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM, SIGPWR};
// All signals that ask a run to stop: the three of a user, and kRestartSignals.
inline constexpr auto kStopSignals = [] {
  std::array<int, 3 + kRestartSignals.size()> all = {SIGINT, SIGTERM, SIGHUP};
  std::copy(kRestartSignals.begin(), kRestartSignals.end(), all.begin() + 3);
  return all;
}();

bool asks_for_restart(int signal_number);  // true for kRestartSignals
// Makes each of kRestartSignals end the process at once with the exit code 75, unless it is
// ignored. By default it would end the process with another code. This is safe at any time, because
// a run can be continued even after SIGKILL.
void end_at_once_if_asked_for_restart();

// While a StopSignal exists, it records the first of kStopSignals as a request to stop. For half a
// second it ignores further signals, because timeout(1) signals a program and then its process
// group, so the program gets two. A signal that comes later ends the process at once, with its
// default action or with the exit code 75, and the worker dies with its parent. A signal that was
// ignored before stays ignored, so that nohup works. The constructor also ignores SIGPIPE, so that
// a run outlives a reader of its log. At most one StopSignal may exist at a time. The constructor
// throws the Error of a failed system call. Any thread may call number() and fd().
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

// Ends the process by a signal that a StopSignal has received, with the default action of the
// signal or with the exit code 75. Nothing is cleaned up. Any thread may call it.
[[noreturn]] void end_now(int signal_number);

// Answers a signal at once, on a thread of its own, while the other threads are too busy to look at
// the StopSignal.
class StopListener {
 public:
  // Calls `on_stop` with the signal as soon as `stop` has received one, which may be before the
  // constructor returns. `stop` must outlive the object. If the system refuses a thread, `on_stop`
  // is never called. The constructor throws the Error of another failed system call.
  StopListener(const StopSignal& stop, std::function<void(int)> on_stop);
  StopListener(const StopListener&) = delete;
  StopListener& operator=(const StopListener&) = delete;
  // Waits for `on_stop` to return if `stop` has received a signal.
  ~StopListener();

 private:
  Pipe end_;
  std::thread thread_;
};

}  // namespace encode
