// Runs one encode-worker: starts it, reads its events, detects hangs and finds out why it ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/error.h"
#include "encode/worker_event.h"

#include "base/stop_signal.h"
#include "protocol/same_build.h"
#include "supervisor/worker/child_process.h"
#include "supervisor/worker/hang_watch.h"
#include "supervisor/worker/line_reader.h"
#include "supervisor/worker/oom_watch.h"

namespace encode {

struct WorkerOptions {
  std::string program;  // the path of encode-worker
  // The patience of the HangWatch.
  Clock::duration hang_floor = std::chrono::seconds(60);
  Clock::duration loading_patience = std::chrono::minutes(10);
  Clock::duration stop_grace = std::chrono::seconds(20);  // from SIGTERM to SIGKILL
  // The time from SIGKILL until the worker counts as stuck in the kernel.
  Clock::duration kill_grace = std::chrono::seconds(10);
};

// How a worker ended, and whether another one may succeed.
struct WorkerOutcome {
  enum class End {
    kFinished,  // the job is done
    kRetired,   // the worker wants to be replaced, and has committed what it encoded
    kRetry,     // another worker may succeed: this one was killed, hung, or ended with kTempFail
    kFatal,     // another worker would fail in the same way
    kStopped,   // a signal asked encode to stop, and the worker has ended
  };
  End end = End::kFatal;
  ErrorDetail error;    // the cause, for kRetry and kFatal
  std::string retired;  // WorkerRetired::reason, for kRetired
  int64_t peak_resident_bytes = 0;
};

// Runs one worker. Should be constructed just before run(). Calls all callbacks on the thread of
// run(). Not thread-safe.
class WorkerSession {
 public:
  struct Callbacks {
    std::function<void(const WorkerEvent&)> on_event;
    // Takes a line of the worker's standard output or error.
    std::function<void(std::string_view)> on_output;
    // Takes a line from the event pipe that is not an event, and the reason why it is not.
    std::function<void(std::string_view, const std::string&)> on_garbage;
    std::function<void(Clock::time_point)> on_tick = {};  // about ten times a second, or more often
  };

  // `stop` must outlive the session.
  WorkerSession(WorkerOptions options, const StopSignal& stop, Callbacks callbacks)
      : options_(std::move(options)), stop_(stop), callbacks_(std::move(callbacks)) {}

  // Blocks until the worker has ended. The worker inherits `lock_fd`, the lock on the cache; -1:
  // none. Throws Error kOsError if the worker cannot be started, and kTempFail if it cannot be
  // killed. If a callback throws, kills the worker and passes the exception on.
  WorkerOutcome run(const std::string& job_path, int lock_fd);

  // The steps of run(), for a thread that watches several workers: start() once, then step() after
  // each wait_for_input(), until it returns how the worker has ended. step() does not call on_tick.
  // The destructor kills a worker that still runs. They throw what run() throws.
  void start(const std::string& job_path, int lock_fd);
  std::optional<WorkerOutcome> step(Clock::time_point now);
  // Waits until a worker has written something, a signal has come, or `most` has passed. Waits
  // shorter for a worker that is about to exit.
  static void wait_for_input(const std::vector<const WorkerSession*>& sessions,
                             const StopSignal& stop, std::chrono::milliseconds most);
  // The most that a caller of step() should wait between two steps.
  static constexpr auto kTick = std::chrono::milliseconds(100);

 private:
  void event_line(std::string_view line);
  void refuse(ErrorDetail error);
  void note_sign_of_life(const WorkerEvent& event);
  void output_line(std::string_view line);
  void watch(Clock::time_point now);
  void kill(Clock::time_point now);
  WorkerOutcome outcome(const ExitStatus& status) const;
  ErrorDetail cause(const ExitStatus& status) const;

  const WorkerOptions options_;
  const StopSignal& stop_;
  const Callbacks callbacks_;

  const OomWatch oom_;
  HangWatch hang_{options_.hang_floor, options_.loading_patience};
  EventReader reader_;
  std::optional<ErrorDetail> refused_;   // set when a message of another build comes
  std::optional<ErrorDetail> reported_;  // set when WorkerFailed comes
  bool finished_ = false;                // true when WorkerFinished has come
  std::string retired_;                  // set when WorkerRetired comes
  bool hung_ = false;
  int64_t garbage_lines_ = 0;
  std::vector<std::string> last_output_;            // the last few lines, which may explain a crash
  std::optional<Clock::time_point> term_deadline_;  // set when SIGTERM is sent
  std::optional<Clock::time_point> kill_deadline_;  // set when SIGKILL is sent
  // start() sets these. The readers go before the child, whose pipes they read.
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<LineReader> events_;
  std::unique_ptr<LineReader> output_;
  Clock::time_point stepped_;
};

// Runs one worker without a lock on the cache, for a job that writes nothing there. Calls
// `on_event` for each event, and ignores what else the worker writes. Throws what
// WorkerSession::run() throws.
WorkerOutcome run_alone(WorkerOptions options, const StopSignal& stop, const std::string& job_path,
                        std::function<void(const WorkerEvent&)> on_event);

}  // namespace encode
