// The life of encode-worker.
#pragma once

#include <string>

namespace encode {

// Does what the job file says and reports over the event pipe. Returns the exit code; a request to
// stop (SIGTERM, SIGINT, SIGUSR1) ends it within a batch with ExitCode::kTempFail. Call from the
// main thread.
int run_worker(const std::string& job_path, int events_fd);

}  // namespace encode
