// Functions for the commands that start workers.
#pragma once

#include "supervisor/run.h"

namespace encode {

// Returns what a run needs to start a worker. The worker program is the file that ENCODE_WORKER
// names, or else encode-worker beside this program. Also sets environment variables of this
// process, which the worker inherits. Throws Error if the path of this program cannot be read.
RunEnvironment run_environment();

// Ends this process with the signal `number`, so that shells and schedulers see this signal (as the
// exit code 130 or 143). If asks_for_restart(), it returns the exit code 75 instead. A scheduler
// sends SIGUSR1 before it preempts a job, and 75 tells the scheduler to start the job again.
int end_by_signal(int number);

}  // namespace encode
