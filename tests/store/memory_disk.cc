// Puts temporary folders into /dev/shm (memory), which is faster for thousands of runs. Tests that
// only kill processes need no disk, because files in /dev/shm survive the process that wrote them.
#include <cstdlib>
#include <unistd.h>

namespace {

[[maybe_unused]] const bool use_memory =
    ::access("/dev/shm", W_OK) == 0 && ::setenv("TMPDIR", "/dev/shm", 1) == 0;

}  // namespace
