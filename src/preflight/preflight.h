// `encode preflight`: checks everything that a run needs, before hours are spent on it. Must be
// called from the main thread.
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
  // A directory or a hub id of a model to check if the config has no streams; "": none.
  std::string model = {};
  WorkerOptions worker;
};

// Goes on after a problem, so that one call shows all of them. Changes no file of the user or of an
// earlier run, and never takes the lock of the cache. It creates and deletes a temporary file in
// the cache directory, and a folder for the worker in the system's directory for temporary files.
// Throws Stopped if a signal comes, and Error only for a failure of preflight itself.
PreflightFindings run_preflight(const PreflightRequest& request, const StopSignal& stop);

}  // namespace encode
