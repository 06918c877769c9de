// What the verbs that start workers share.
#pragma once

#include "supervisor/run.h"

namespace encode {

// The worker beside this program, unless ENCODE_WORKER names another one. Sets variables of this
// process's environment for it.
RunEnvironment run_environment();

// Ends the way the signal would have ended us, so that shells and schedulers see it (130, 143).
// SIGUSR1 is the warning of a scheduler before it preempts the job: 75 tells it to start the job
// again.
int end_by_signal(int number);

}  // namespace encode
