// Runs one encode-worker: starts it, reads its events, detects hangs and finds out why it ended.
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
  std::string program;                                    // the path of encode-worker
  Clock::duration hang_floor = std::chrono::seconds(60);  // see HangWatch
  Clock::duration stop_grace = std::chrono::seconds(20);  // from SIGTERM to SIGKILL
  // The time from SIGKILL until the worker counts as stuck in the kernel.
  Clock::duration kill_grace = std::chrono::seconds(10);
};

// How a worker ended, and whether another one may succeed.
struct WorkerOutcome {
  enum class End {
    kFinished,  // the job is done
    kRetry,     // another worker may succeed: this one was killed, hung, or ended with kTempFail
    kFatal,     // another worker would fail in the same way
    kStopped,   // a signal asked encode to stop, and the worker has ended
  };
  End end = End::kFatal;
  ErrorDetail error;   // the cause, for kRetry and kFatal
  int64_t unit = -1;   // the unit of the chunk that the worker started last; -1: none
  int64_t chunk = -1;  // the chunk that the worker started last; -1: none
  int64_t peak_resident_bytes = 0;
};

// One object runs one worker. Calls all callbacks on the thread of run(). Not thread-safe.
class WorkerSession {
 public:
  struct Callbacks {
    std::function<void(const WorkerEvent&)> on_event;
    // Takes a line of the worker's standard output or error.
    std::function<void(std::string_view)> on_output;
    // Takes a line of the event pipe that is not a valid event, and why it is not.
    std::function<void(std::string_view, const std::string&)> on_garbage;
    std::function<void(Clock::time_point)> on_tick;  // about ten times a second, or more often
  };

  // `stop` must outlive the session.
  WorkerSession(WorkerOptions options, const StopSignal& stop, Callbacks callbacks)
      : options_(std::move(options)), stop_(stop), callbacks_(std::move(callbacks)) {}

  // Blocks until the worker has ended. The worker inherits `lock_fd`, the lock on the cache; -1:
  // none. Throws Error kOsError if the worker cannot be started, and kTempFail if it cannot be
  // killed. If a callback throws, kills the worker and passes the exception on.
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
  std::optional<ErrorDetail> reported_;  // set when WorkerFailed comes
  bool finished_ = false;                // true when WorkerFinished has come
  bool hung_ = false;
  int64_t unit_ = -1;  // the unit of the chunk that was started last
  int64_t chunk_ = -1;
  int64_t garbage_lines_ = 0;
  std::vector<std::string> last_output_;            // the last few lines, which may explain a crash
  std::optional<Clock::time_point> term_deadline_;  // set when SIGTERM is sent
  std::optional<Clock::time_point> kill_deadline_;  // set when SIGKILL is sent
};

}  // namespace encode
