// Moves the clock of the day of a program, as ntpd, a person or a virtual machine that wakes up
// does. The library is loaded with LD_PRELOAD:
//
//   CLOCK_JUMP=315360000 LD_PRELOAD=.. encode run ..      ten years ahead; below 0: back
//   CLOCK_JUMP=step LD_PRELOAD=.. encode run ..           at each look, ten years ahead or back
//
// The other clocks (CLOCK_MONOTONIC), and the times of files, stay as they are.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

constexpr time_t kTenYears = 315'360'000;

time_t jump() {
  static std::atomic<unsigned> looks{0};
  const char* const setting = std::getenv("CLOCK_JUMP");
  if (setting == nullptr) return 0;
  if (std::strcmp(setting, "step") != 0) return std::strtol(setting, nullptr, 10);
  return looks++ % 2 == 0 ? kTenYears : -kTenYears;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += jump();
  return result;
}

time_t time(time_t* result) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(timeval* result, void* /*zone*/) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  *result = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

}  // extern "C"
