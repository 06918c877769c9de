// One life of encode-worker: started, listened to, watched, ended, and its end understood.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/worker_event.h"

#include "supervisor/stop_signal.h"
#include "supervisor/worker/child_process.h"
#include "supervisor/worker/hang_watch.h"

namespace encode {

struct WorkerOptions {
  std::string program;  // encode-worker
  Clock::duration hang_floor = std::chrono::seconds(60);
  Clock::duration stop_grace = std::chrono::seconds(20);  // from SIGTERM to SIGKILL
  Clock::duration kill_grace =
      std::chrono::seconds(10);  // from SIGKILL until it counts as stuck in the kernel
};

// How a worker's life ended, and what to do about it.
struct WorkerOutcome {
  enum class End {
    kFinished,  // it did what the job says
    kRetry,  // another worker may succeed: killed by a signal, hung, or it said so (exit status 75)
    kFatal,  // another worker would fail the same way
    kStopped,  // we were asked to stop, and it stopped
  };
  End end = End::kFatal;
  ErrorDetail error;  // kRetry, kFatal: the cause
  int64_t unit = -1;  // kRetry, kFatal: what it was at; -1: before any chunk
  int64_t chunk = -1;
  int64_t peak_resident_bytes = 0;
};

class WorkerSession {
 public:
  struct Callbacks {
    std::function<void(const WorkerEvent&)> on_event;
    std::function<void(std::string_view)> on_output;  // a line of its standard output or error
    std::function<void(std::string_view, const std::string&)>
        on_garbage;                                  // an event line, and why it is none
    std::function<void(Clock::time_point)> on_tick;  // about ten times a second
  };

  WorkerSession(WorkerOptions options, const StopSignal& stop, Callbacks callbacks)
      : options_(std::move(options)), stop_(stop), callbacks_(std::move(callbacks)) {}

  // Blocks until the worker has ended. Throws Error kOsError where it cannot be started, kTempFail
  // where it cannot be killed, and whatever a callback throws (the worker is killed then).
  WorkerOutcome run(const std::string& job_path, int lock_fd);

 private:
  ExitStatus wait_for_end(ChildProcess& child);
  void event_line(std::string_view line);
  void note_sign_of_life(const WorkerEvent& event);
  void output_line(std::string_view line);
  void watch(ChildProcess& child, Clock::time_point now);
  void kill(const ChildProcess& child, Clock::time_point now);
  WorkerOutcome outcome(const ExitStatus& status) const;
  ErrorDetail cause(const ExitStatus& status) const;

  const WorkerOptions options_;
  const StopSignal& stop_;
  const Callbacks callbacks_;

  HangWatch hang_{options_.hang_floor};
  std::optional<ErrorDetail> reported_;  // WorkerFailed
  bool finished_ = false;                // WorkerFinished
  bool hung_ = false;
  int64_t unit_ = -1;  // of the chunk started last
  int64_t chunk_ = -1;
  int64_t garbage_lines_ = 0;
  std::vector<std::string> last_output_;  // a few lines, for the cause of a crash
  std::optional<Clock::time_point> term_deadline_;
  std::optional<Clock::time_point> kill_deadline_;
};

}  // namespace encode
