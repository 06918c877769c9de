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
  int64_t model_bytes = 0;     // of the files of the largest model
  int64_t worker_bytes = 0;    // the resident memory of a worker with this model; 0: not known
  int64_t prefetch_bytes = 0;  // SpeedOptions::prefetch_bytes, the largest of the streams
};

// Adds a red finding and returns false if the host has too little memory to load the model at all.
bool check_memory_to_load(const HostFacts& host, const HostNeeds& needs,
                          PreflightFindings& findings);
// `needs.worker_bytes` must be known.
void check_memory_to_run(const HostFacts& host, const HostNeeds& needs,
                         PreflightFindings& findings);

}  // namespace encode
