// Detects a hung worker: no batch has finished for much longer than batches usually take.
#pragma once

#include <chrono>
#include <vector>

namespace encode {

using Clock = std::chrono::steady_clock;

// Starts to watch at the first alive(), because a model may take any time to load. Not thread-safe.
class HangWatch {
 public:
  // `floor` is the shortest patience.
  explicit HangWatch(Clock::duration floor) : floor_(floor) {}

  // A batch has finished. Its time counts for the median, and the patience begins again.
  void batch(Clock::time_point now);
  // Other work has finished, for example a model was loaded. The patience begins again.
  void alive(Clock::time_point now);
  // Stops watching until the next alive() or batch(). Another model may be loaded meanwhile.
  void pause() { watching_ = false; }
  bool hung(Clock::time_point now) const { return watching_ && now >= deadline_; }
  // The longest time without a sign of life: max(floor, 20 x median batch time).
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
