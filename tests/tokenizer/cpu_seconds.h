// Returns the processor time of this thread. Unlike wall-clock time, it does not count the time in
// which other programs run.
#pragma once

#include <ctime>

namespace encode::testing {

inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace encode::testing
