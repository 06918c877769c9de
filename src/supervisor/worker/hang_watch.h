// Detects a hung worker: no batch has finished for much longer than batches usually take, or no
// part of a model was loaded for too long.
#pragma once

#include <chrono>
#include <vector>

namespace encode {

using Clock = std::chrono::steady_clock;

// A worker counts as hung if it gives no sign of life for the time patience(). The watch starts at
// the first sign of life. Not thread-safe.
class HangWatch {
 public:
  // `floor` is the shortest patience with batches. `loading` is the patience while a model is
  // loaded: one step, such as a large tensor on a slow network disk, may take minutes.
  HangWatch(Clock::duration floor, Clock::duration loading)
      : floor_(floor), loading_patience_(loading) {}

  // Must be called when a batch has finished, which is a sign of life. Its time counts for the
  // median of patience().
  void batch(Clock::time_point now);
  // Must be called when a part of a model was loaded. This is also a sign of life. The longer
  // patience for loading applies until alive() or batch() is called.
  void loading(Clock::time_point now);
  // Must be called when other work has finished, for example when a whole model was loaded. This is
  // also a sign of life.
  void alive(Clock::time_point now);
  // Must be called when this process itself was paused for a while. The time until now then does
  // not count.
  void forgive(Clock::time_point now);
  // Stops the watch until the next sign of life, because another model may be loaded now.
  void pause() { watching_ = false; }
  bool hung(Clock::time_point now) const { return watching_ && now >= deadline_; }
  // Returns true if the last sign of life was a part of a model.
  bool is_loading() const { return loading_; }
  // Returns the time that the watch waits for the next sign of life: while a model is loaded,
  // `loading`; otherwise max(floor, 20 x the median time of the last batches).
  Clock::duration patience() const;

 private:
  static constexpr size_t kWindow = 101;

  void sign_of_life(Clock::time_point now);

  Clock::duration floor_;
  Clock::duration loading_patience_;
  bool watching_ = false;
  bool loading_ = false;
  Clock::time_point last_;
  Clock::time_point deadline_;
  std::vector<Clock::duration> batches_;  // a ring of the last kWindow batch times
  size_t next_ = 0;
};

}  // namespace encode
