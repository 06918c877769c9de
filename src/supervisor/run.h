// `encode run`: from a config to finished matrices, through as many workers as it takes.
#pragma once

#include <functional>
#include <string>

#include "encode/config.h"
#include "encode/worker_event.h"

#include "supervisor/report/summary.h"
#include "supervisor/report/terminal.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

struct RunEnvironment {
  WorkerOptions worker;
  double first_restart_delay_seconds = 1;
  std::string version;  // for the log
  // For who runs more than one experiment: what stops them, which must outlive the run (none: the
  // run catches the signals itself), and who else hears what the worker says.
  const StopSignal* stop = nullptr;
  std::function<void(const WorkerEvent&)> on_event = [](const WorkerEvent&) {};
};

struct RunEnd {
  int stopped_by = 0;  // 0: every final is there, complete, with a manifest that fits
  RunSummary summary;  // where it was not stopped
};

// Encodes what is not there yet and publishes the finals. A signal stops it in order, with every
// committed chunk kept; the caller passes it on by raising it again. Throws Error with the
// documented exit code; the log file, where there is one already, has it too. Catches signals while
// it runs: call it from the main thread.
RunEnd run_experiment(const RunConfig& config, const RunEnvironment& environment, Terminal& err,
                      Terminal& out);

}  // namespace encode
