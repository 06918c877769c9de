// `encode run`: from a config to finished matrices, through as many workers as it takes.
#pragma once

#include <string>

#include "encode/config.h"

#include "supervisor/terminal.h"
#include "supervisor/worker_session.h"

namespace encode {

struct RunEnvironment {
  WorkerOptions worker;
  double first_restart_delay_seconds = 1;
  std::string version;  // for the log
};

// Encodes what is not there yet and publishes the finals. Returns 0, or the number of the signal
// that stopped the run in order, with every committed chunk kept; the caller passes it on by
// raising it again. Returning 0 means: every final is there, complete, with a manifest that fits.
// Throws Error with the documented exit code; the log file, where there is one already, has it too.
// Catches signals while it runs: call it from the main thread.
int run_experiment(const RunConfig& config, const RunEnvironment& environment, Terminal& err,
                   Terminal& out);

}  // namespace encode
