// What encode-worker does: it reads the job, encodes its units and sends events.
#pragma once

#include <string>

namespace encode {

// Runs the job in the file `job_path` and sends its events to `events_fd`. Returns the exit code.
// Sends a failure as WorkerFailed. After SIGTERM, SIGINT, SIGHUP or SIGUSR1 it stops at the end of
// the current batch and returns kTempFail. Must be called on the main thread. The caller keeps
// `events_fd` open. Does not throw.
int run_worker(const std::string& job_path, int events_fd);

}  // namespace encode
