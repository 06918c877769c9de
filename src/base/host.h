// The memory and the processors that this process may use. A container's limits apply if they are
// below those of the machine. Any thread may call these functions. They throw no Error: a limit
// that cannot be read counts as no limit, and a size that cannot be read as 0.
#pragma once

#include <cstdint>
#include <string>

namespace encode {

struct HostMemory {
  int64_t limit_bytes = 0;      // the smaller of the physical memory and the cgroup limit
  int64_t available_bytes = 0;  // the memory that can be allocated without swapping or an OOM kill
  double used_percent() const;  // 0 to 100
};

HostMemory host_memory();
int64_t resident_bytes();       // the resident memory of this process
int64_t peak_resident_bytes();  // the largest resident memory of this process so far

// Returns the number of processors on which this process may run at once, at least 1. This is the
// smaller of two numbers: the size of the affinity mask, and the cgroup CPU quota (v1 or v2)
// rounded up.
int64_t cpu_quota();

std::string host_name();

// Returns a text such as "host memory 38.7% (38.4 GB available)".
std::string describe(const HostMemory& memory);

}  // namespace encode
