// Wall-clock time.
#pragma once

#include <chrono>

namespace encode {

// lap() is not thread-safe.
class Stopwatch {
 public:
  // The time since the last call of lap(), or since the construction.
  double seconds() const { return seconds_until(Clock::now()); }

  // Returns seconds() and starts the time anew.
  double lap() {
    const Clock::time_point now = Clock::now();
    const double seconds = seconds_until(now);
    last_ = now;
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_until(Clock::time_point now) const {
    return std::chrono::duration<double>(now - last_).count();
  }

  Clock::time_point last_ = Clock::now();
};

}  // namespace encode
