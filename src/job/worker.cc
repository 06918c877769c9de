#include "job/worker.h"

#include <atomic>
#include <csignal>

#include "base/file.h"
#include "job/event_pipe.h"
#include "job/failure.h"
#include "job/loaded_model.h"
#include "job/time_products.h"
#include "job/unit_run.h"
#include "job/worker_context.h"

namespace encode {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets this");

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_requested.store(true, std::memory_order_relaxed); };
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::sigaction(number, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

constexpr int64_t kMaxJobBytes = int64_t{1} << 30;

// Returns false if the worker was asked to stop.
bool run_job(const WorkerContext& context) {
  if (context.job.product_seconds > 0) return time_products(context);
  ModelKeeper models(context);
  const auto units = static_cast<int64_t>(context.job.units.size());
  for (int64_t unit = 0; unit < units; ++unit) {
    if (context.stopped()) return false;
    if (!UnitRun(context, unit, models.model_of(unit)).run()) return false;
  }
  return true;
}

}  // namespace

int run_worker(const std::string& job_path, int events_fd) {
  catch_stop_signals();
  EventPipe events(events_fd);
  try {
    const JobSpec job = job_spec_from_json(read_file(job_path, kMaxJobBytes, "job.read"));
    if (!run_job({.job = job, .events = events, .stop = stop_requested}))
      return static_cast<int>(ExitCode::kTempFail);
    events.send(WorkerFinished{});
    return static_cast<int>(ExitCode::kOk);
  } catch (...) {
    const ErrorDetail error = describe_current_exception();
    events.send(WorkerFailed{.error = error});
    return static_cast<int>(error.exit_code);
  }
}

}  // namespace encode
