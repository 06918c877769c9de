// Measures wall-clock time.
#pragma once

#include <chrono>

namespace encode {

// lap() is not thread-safe. Throws no Error.
class Stopwatch {
 public:
  // Returns the time since the last call of lap(), or since the construction if there was no call.
  double seconds() const { return seconds_until(Clock::now()); }

  // Returns seconds() and restarts the measurement from 0.
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
