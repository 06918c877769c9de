// What encode-worker does: it reads the job, encodes its units and sends events.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "encode/encoder.h"

namespace encode {

// Puts another Encoder around one that was loaded and has passed its checks. Tests use it to make
// the device fail.
using WrapEncoder = std::function<std::unique_ptr<Encoder>(std::unique_ptr<Encoder>)>;

// Runs the job in the file `job_path` and sends its events to `events_fd`. Returns the exit code.
// Sends a failure as WorkerFailed. After a signal of StopSignal it stops at the end of the current
// batch and returns kTempFail. Must be called on the main thread. The caller keeps `events_fd`
// open, and ends the process without the destructors of static objects. Does not throw.
int run_worker(const std::string& job_path, int events_fd, const WrapEncoder& wrap = {});

}  // namespace encode
