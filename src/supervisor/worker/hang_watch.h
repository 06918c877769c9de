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

  // A sign of life: a batch has finished. Its time counts for the median of patience().
  void batch(Clock::time_point now);
  // A sign of life: other work has finished, for example a model was loaded.
  void alive(Clock::time_point now);
  // Stops the watch until the next sign of life, because another model may be loaded now.
  void pause() { watching_ = false; }
  bool hung(Clock::time_point now) const { return watching_ && now >= deadline_; }
  // max(floor, 20 x the median time of the last batches).
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
