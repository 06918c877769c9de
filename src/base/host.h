// What this process may use of the machine: the container's limits where there are any, else the
// machine's.
#pragma once

#include <cstdint>
#include <string>

namespace encode {

struct HostMemory {
  int64_t limit_bytes = 0;      // the smaller of physical memory and the cgroup limit
  int64_t available_bytes = 0;  // what can still be taken without swapping or being killed
  double used_percent() const;
};

HostMemory host_memory();
int64_t resident_bytes();  // of this process
int64_t peak_resident_bytes();

// Processors this process may run on at once: affinity mask, cut down to the cgroup CPU quota (v1
// and v2), at least 1.
int64_t cpu_quota();

std::string host_name();

// "host memory 38.7% (38.4 GB available)"
std::string describe(const HostMemory& memory);

}  // namespace encode
