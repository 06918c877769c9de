// The memory and the processors that this process may use. A container's limits apply if they are
// below the limits of the machine. Any thread may call these functions. They throw no Error: a
// limit that cannot be read counts as no limit, and a size that cannot be read as 0.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace encode {

struct HostMemory {
  // The smallest of the physical memory and the limits of the cgroups: memory.max and memory.high
  // (v2; above memory.high the kernel slows the process down), memory.limit_in_bytes (v1). In a
  // virtual machine the physical memory may grow on use, so decide by a new reading.
  int64_t limit_bytes = 0;
  // The memory that can be allocated without swapping, an OOM kill or a delay. The page cache
  // of files that no process maps counts as available.
  int64_t available_bytes = 0;
  // The share of the last ten seconds, 0 to 100, in which some task of the cgroup waited for memory
  // ("some avg10" of memory.pressure). If no cgroup counts this, it is the share of the whole
  // machine; 0 if nothing counts it.
  double stalled_percent = 0;
  double used_percent() const;  // 0 to 100
};

// Reads the memory of the machine and the limits of all cgroups from the process's own to the root
// of the mount. The tightest limit decides. `root` is put before every path: "" for the real files;
// a test names a folder with copies.
HostMemory host_memory(const std::string& root = "");

// Returns the most that limit_bytes can become. Use it before refusing a run for good: a virtual
// machine may get ballooned pages back. Returns 0 if it is not known, because no cgroup has a limit
// and the kernel does not list its zones of memory. Such a kernel, as gVisor, may raise MemTotal on
// use.
int64_t most_memory_bytes(const std::string& root = "");

// Returns the memory that is left for processes that may use `limit_bytes` together and use
// `used_bytes` now. The limit and the memory of the host apply if they are smaller.
HostMemory within(const HostMemory& host, int64_t limit_bytes, int64_t used_bytes);

int64_t swap_bytes();                   // the swap space of the machine
int64_t resident_bytes();               // the resident memory of this process
int64_t resident_bytes(pid_t process);  // of another process; 0 if there is no such process
// The resident memory of this process without the pages of files that it has mapped. The kernel
// frees such pages when memory is short.
int64_t private_resident_bytes();
int64_t peak_resident_bytes();  // the largest resident memory of this process so far

// Gives memory that was freed back to the kernel. Takes up to some milliseconds.
void trim_heap();

// Returns the number of processors on which this process may run at once, at least 1. This is the
// smaller of two numbers: the size of the affinity mask, and the cgroup CPU quota (v1 or v2)
// rounded up.
int64_t cpu_quota();
// Returns the number of threads that a setting asks for: `setting`, or cpu_quota() if it is 0.
int64_t threads_or_quota(int64_t setting);

std::string host_name();

// Returns a text such as "host memory 38.7% (38.4 GB available)".
std::string describe(const HostMemory& memory);
std::string describe_host_memory(double used_percent, int64_t available_bytes);

}  // namespace encode
