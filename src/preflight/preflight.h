// `encode preflight`: looks at everything that a run needs, before hours are spent on it.
#pragma once

#include <optional>
#include <string>

#include "encode/config.h"
#include "encode/error.h"

#include "base/stop_signal.h"
#include "preflight/findings.h"
#include "supervisor/worker/worker_session.h"

namespace encode {

struct PreflightRequest {
  // The experiment. Without streams, only the machine is checked, with `hardware` of this config.
  RunConfig config;
  // Why the config cannot be used. Then only the machine is checked.
  std::optional<ErrorDetail> config_error = std::nullopt;
  // A directory or a hub id, which is checked if the config has no streams; "": none.
  std::string model = {};
  WorkerOptions worker;
};

// Changes no file of the user and none of an earlier run. In the cache directory it makes one
// temporary file, which it deletes; it never takes the lock of the cache. The worker's files are in
// a folder of the system's directory for temporary files, which is deleted too. It goes on after a
// problem, so that one call shows all of them. Throws Stopped if a signal comes, and Error only for
// a failure of preflight itself.
PreflightFindings run_preflight(const PreflightRequest& request, const StopSignal& stop);

}  // namespace encode
