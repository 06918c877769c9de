// Checks the host: its processors, its memory and the limits of the process.
#pragma once

#include <cstdint>

#include "base/host.h"
#include "preflight/findings.h"

namespace encode {

struct HostFacts {
  HostMemory memory;
  int64_t processors = 1;
  // The limits of this process; 0: none.
  int64_t open_files = 0;     // ulimit -n
  int64_t address_bytes = 0;  // ulimit -v
};

HostFacts host_facts();  // throws no Error

void check_host(const HostFacts& host, PreflightFindings& findings);

struct HostNeeds {
  int64_t worker_bytes = 0;    // the resident memory of a worker with the largest model
  int64_t prefetch_bytes = 0;  // SpeedOptions::prefetch_bytes, the largest of the streams
};

void check_memory_to_run(const HostFacts& host, const HostNeeds& needs,
                         PreflightFindings& findings);

}  // namespace encode
