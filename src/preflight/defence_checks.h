// Shows which defences against faults of the device are in force with these settings.
// docs/preflight.md lists them.
#pragma once

#include "encode/config.h"

#include "preflight/findings.h"

namespace encode {

// The defences of the supervisor. The worker tries its own: see worker_check.h.
void check_defences(const RunConfig& config, PreflightFindings& findings);

}  // namespace encode
