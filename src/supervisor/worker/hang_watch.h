// Detects a hung worker: no batch has finished for much longer than batches usually take.
#pragma once

#include <chrono>
#include <vector>

namespace encode {

using Clock = std::chrono::steady_clock;

// A worker counts as hung if it gives no sign of life for the time patience(). The watch starts at
// the first alive(), because a model may take any time to load. Not thread-safe.
class HangWatch {
 public:
  // `floor` is the shortest patience.
  explicit HangWatch(Clock::duration floor) : floor_(floor) {}

  // Must be called when a batch has finished, which is a sign of life. Its time counts for the
  // median of patience().
  void batch(Clock::time_point now);
  // Must be called when other work has finished, for example when a model was loaded. This is a
  // sign of life, too.
  void alive(Clock::time_point now);
  // Stops the watch until the next sign of life, because another model may be loaded now.
  void pause() { watching_ = false; }
  bool hung(Clock::time_point now) const { return watching_ && now >= deadline_; }
  // Returns max(floor, 20 x the median time of the last batches).
  Clock::duration patience() const;

 private:
  static constexpr size_t kWindow = 101;

  Clock::duration floor_;
  bool watching_ = false;
  Clock::time_point last_;
  Clock::time_point deadline_;
  std::vector<Clock::duration> batches_;  // a ring of the last kWindow batch times
  size_t next_ = 0;
};

}  // namespace encode
