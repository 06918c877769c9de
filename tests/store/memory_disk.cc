// Puts temporary folders into /dev/shm. Tests that only kill processes need no disk, because memory
// keeps what a killed process wrote, and thousands of runs are faster there.
#include <cstdlib>
#include <unistd.h>

namespace {

[[maybe_unused]] const bool use_memory =
    ::access("/dev/shm", W_OK) == 0 && ::setenv("TMPDIR", "/dev/shm", 1) == 0;

}  // namespace
