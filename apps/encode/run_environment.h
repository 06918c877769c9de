// Functions for the commands that start workers.
#pragma once

#include "supervisor/run.h"

namespace encode {

// The worker program is the one beside this program, or the one that ENCODE_WORKER names. Sets
// environment variables of this process that the worker inherits. Throws Error if the path of this
// program cannot be read.
RunEnvironment run_environment();

// Ends this process with the signal `number`, so that shells and schedulers see it (130, 143). For
// SIGUSR1 it returns the exit code 75 instead. A scheduler sends SIGUSR1 before it preempts a job,
// and 75 tells it to start the job again.
int end_by_signal(int number);

}  // namespace encode
