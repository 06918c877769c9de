// Runs an experiment (`encode run`): starts workers until all matrices of the config are published.
#pragma once

#include <functional>
#include <string>

#include "encode/config.h"
#include "encode/worker_event.h"

#include "run_plan/lock_of_run.h"
#include "run_plan/plan.h"
#include "run_plan/shard_plan.h"
#include "run_record/run_command.h"
#include "run_record/summary.h"
#include "run_record/terminal.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

// What a run that works in an attempt (own_attempt.h) has besides.
struct AttemptOfRun {
  LockOfRun lock;  // of the user's cache directory
  // Called with the plan when every final matrix is in the attempt. The run leaves the directory of
  // the attempt as it is. The second argument is true if nothing was encoded, because all matrices
  // existed when the run began.
  std::function<void(RunPlan&&, bool)> finished;
};

struct RunEnvironment {
  WorkerOptions worker;
  double first_restart_delay_seconds = 1;  // see FaultPolicy::restart()
  std::string version;                     // of encode, for the log
  RunCommand command = {};                 // for status.json and for messages
  // True: the rows that earlier runs have set aside are tried again.
  bool retry_set_aside = false;
  // The run stops when this StopSignal has received a signal. It must outlive the run. If it is
  // null, the run catches the signals itself. `encode bench` has one StopSignal for several runs.
  const StopSignal* stop = nullptr;
  // The shard whose rows are encoded; null: all rows. It must outlive the run.
  const Shard* shard = nullptr;
  // Not null: the run works in an attempt. It must outlive the run.
  const AttemptOfRun* attempt = nullptr;
  // Is called with the error that ends the run before it is reported, and may change it.
  std::function<void(ErrorDetail&)> amend_error = [](ErrorDetail&) {};
  bool measure_refused = false;  // see JobSpec; only `encode bench` may set it
  // Is called with every event that the worker sends, on the thread of run_experiment().
  std::function<void(const WorkerEvent&)> on_event = [](const WorkerEvent&) {};
};

struct RunEnd {
  int stopped_by = 0;       // the signal that stopped the run; 0: every final matrix is published
  RunSummary summary = {};  // empty if the run was stopped
};

// Encodes the rows that are not committed yet and publishes the final matrices. After a signal it
// stops the worker, keeps every committed chunk and returns; the caller then raises the signal
// again. While the inputs are read, a signal ends the process, unless there is
// RunEnvironment::stop. Throws Error with the documented exit code, and writes the error to the log
// file if that is open. Catches signals while it runs, so call it from the main thread.
RunEnd run_experiment(const RunConfig& config, const RunEnvironment& environment, Terminal& err,
                      Terminal& out);

}  // namespace encode
