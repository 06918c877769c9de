#include "job/worker.h"

#include <atomic>
#include <csignal>

#include "base/file.h"
#include "job/event_pipe.h"
#include "job/failure.h"
#include "job/unit_runner.h"

namespace encode {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_requested.store(true, std::memory_order_relaxed); };
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::sigaction(number, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

constexpr int64_t kMaxJobBytes = int64_t{1} << 30;

}  // namespace

int run_worker(const std::string& job_path, int events_fd) {
  catch_stop_signals();
  EventPipe events(events_fd);
  WorkerEvent last;
  try {
    const JobSpec job = job_spec_from_json(read_file(job_path, kMaxJobBytes, "job.read"));
    UnitRunner runner(job, events, stop_requested);
    for (size_t unit = 0; unit < job.units.size(); ++unit) {
      const auto number = static_cast<int64_t>(unit);
      const bool done = !stop_requested && (job.product_seconds > 0 ? runner.time_products(number)
                                                                    : runner.run(number));
      if (!done) return static_cast<int>(ExitCode::kTempFail);
    }
    last.kind = WorkerEvent::Kind::kFinished;
  } catch (...) {
    last.kind = WorkerEvent::Kind::kError;
    last.error = describe_current_exception();
  }
  events.send(last);
  return static_cast<int>(last.kind == WorkerEvent::Kind::kFinished ? ExitCode::kOk
                                                                    : last.error.exit_code);
}

}  // namespace encode
