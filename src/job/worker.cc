#include "job/worker.h"

#include <atomic>
#include <csignal>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <tuple>

#include "base/file.h"
#include "base/stop_signal.h"
#include "job/cache_session.h"
#include "job/defences.h"
#include "job/event_pipe.h"
#include "job/failure.h"
#include "job/host_guard.h"
#include "job/loaded_model.h"
#include "job/retirement.h"
#include "job/time_products.h"
#include "job/unit_run.h"
#include "job/worker_context.h"
#include "protocol/device_kind.h"
#include "protocol/protocol_refusal.h"
#include "protocol/same_build.h"
#include "store/file_list.h"
#include "store/fingerprint/fingerprint.h"

namespace encode {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets this");

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_requested.store(true, std::memory_order_relaxed); };
  for (const int number : kStopSignals) ::sigaction(number, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond ulimit -f then fails with EFBIG
}

// Throws Error unless the device is of the kind that the other workers of the run use.
void require_kind(const JobSpec& job, const DeviceFacts& device) {
  const ChunkOrigin own = origin_of(device);
  if (!job.required_kind || own.same_kind(*job.required_kind)) return;
  throw Error({.code = "run.unlike_devices",
               .what = "the devices of a run are of different kinds, so their vectors would differ",
               .where = describe(device),
               .expected = describe(*job.required_kind),
               .found = describe(own),
               .hint = "name devices of one kind with --devices (hardware.devices); all committed "
                       "chunks are kept"});
}

// Throws Error if this build writes another version of the fingerprint: it could compute other bits
// for the same fingerprint.
void require_own_fingerprints(const JobSpec& job) {
  for (const JobUnit& unit : job.units) {
    const int64_t version = version_of(unit.identity.fingerprint);
    if (version == 0 || version == Fingerprint::kVersion) continue;
    refuse_document("the fingerprint of a stream is of another build", fmt::to_string(version),
                    fmt::to_string(Fingerprint::kVersion));
  }
}

// Runs the units one after the other, and tells the supervisor how the job ended. If the worker was
// asked to stop, returns false and does not tell it.
bool run_units(const WorkerContext& context, ModelKeeper& models) {
  std::optional<Retirement> retirement;
  CacheSession cache(context);
  const auto units = static_cast<int64_t>(context.job.units.size());
  for (int64_t unit = 0; unit < units; ++unit) {
    if (context.stopped()) return false;
    LoadedModel& model = models.model_of(unit);
    require_kind(context.job, model.encoder->device());
    if (!retirement) {
      retirement.emplace(context.job.hardware, model.encoder->device().kind,
                         context.started.seconds());
    }
    UnitRun unit_run(context, unit, model, cache);
    const UnitRun::End end = unit_run.run(*retirement);
    if (end == UnitRun::End::kStopped) return false;
    const bool rows_left = end == UnitRun::End::kRetired || unit + 1 < units;
    if (rows_left && retirement->due()) {
      context.events.send(
          WorkerRetired{.reason = retirement->reason(), .stages = unit_run.stages()});
      return true;
    }
  }
  context.events.send(WorkerFinished{});
  return true;
}

bool run_job(const WorkerContext& context, ModelKeeper& models) {
  const bool encodes = context.job.product_seconds <= 0 && !context.job.check_only;
  if (encodes) return run_units(context, models);
  const bool done = context.job.check_only ? check_only(context, models) : time_products(context);
  if (!done) return false;
  context.events.send(WorkerFinished{});
  return true;
}

}  // namespace

int run_worker(const std::string& job_path, int events_fd, const WrapEncoder& wrap) {
  catch_stop_signals();
  EventPipe events(events_fd);
  events.greet();
  JobSpec job;
  WorkerContext context = {
      .job = job, .events = events, .stop = stop_requested, .wrap_encoder = wrap};
  std::optional<PressureGuard> guard;
  auto models = std::make_unique<ModelKeeper>(context);
  try {
    job = job_of_this_build(read_file(job_path, kMaxJobBytes, "job.read"));
    require_own_fingerprints(job);
    for (JobUnit& unit : job.units) read_listed_files(unit.scan);
    guard.emplace(job.hardware.memory_pressure_percent, guard_sources(job, events));
    context.guard = &*guard;
    const bool completed = run_job(context, *models);
    return static_cast<int>(completed ? ExitCode::kOk : ExitCode::kTempFail);
  } catch (...) {
    const ErrorDetail error = current_failure().error;
    events.send(WorkerFailed{.error = error});
    // The model is leaked on purpose: freeing tensors of a failed device can throw or hang, and the
    // process ends anyway.
    std::ignore = models.release();
    return static_cast<int>(error.exit_code);
  }
}

}  // namespace encode
