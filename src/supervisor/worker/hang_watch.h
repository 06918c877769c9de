// When a worker counts as hung: a batch has not come back for far longer than batches take.
#pragma once

#include <chrono>
#include <vector>

namespace encode {

using Clock = std::chrono::steady_clock;

// One thread. Starts to watch at the first alive(): loading a model may take any time.
class HangWatch {
 public:
  explicit HangWatch(Clock::duration floor) : floor_(floor) {}

  void batch(Clock::time_point now);  // a batch came back; a sign of life, too
  void alive(
      Clock::time_point now);  // other work was finished: the model loaded, a chunk committed
  void pause() { watching_ = false; }  // until the next alive(): another model may be loaded now
  bool hung(Clock::time_point now) const { return watching_ && now >= deadline_; }
  Clock::duration patience() const;  // max(floor, 20 x median batch time)

 private:
  static constexpr size_t kWindow = 101;

  Clock::duration floor_;
  bool watching_ = false;
  Clock::time_point last_;
  Clock::time_point deadline_;
  std::vector<Clock::duration> batches_;  // the last kWindow, as a ring
  size_t next_ = 0;
};

}  // namespace encode
