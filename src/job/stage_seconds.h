// Where the time of a unit goes, for the log.
#pragma once

#include <chrono>
#include <string>

namespace encode {

class Stopwatch {
 public:
  // Seconds since the last lap, or since it was made.
  double lap() {
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

// Wall-clock seconds. Stages of the producer's and the commit thread run beside those of the main
// thread, whose own add up to the unit's time: rows_awaited, encode, commit_awaited.
struct StageSeconds {
  double read = 0;            // producer
  double tokenize = 0;        // producer
  double pack = 0;            // producer
  double rows_awaited = 0;    // main thread: no window was ready
  double encode = 0;          // main thread: from token ids to rows
  double commit_awaited = 0;  // main thread: two windows were on their way, or the end
  double commit = 0;          // commit thread: write, sync, log

  void add(const StageSeconds& other);
  std::string text() const;  // "seconds: read 0.1, tokenize 2.3, ..."
};

}  // namespace encode
