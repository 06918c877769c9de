// Watches the host memory, and says when the parts of a worker must use less of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "encode/shrinkable.h"

#include "base/host.h"

namespace encode {

// The host is "pressed" from the moment when the used share of its memory reaches a mark until the
// share has fallen to 15/17 of the mark. Between the two, the pressure also begins if tasks wait
// for memory for a tenth of the time. While the host is pressed, the owner of the guard reads at
// most one window ahead, its windows are smaller (a quarter at first, and half of that after each
// second, down to 1/16), and caches keep a quarter of their memory. Afterwards the windows double
// each second.
//
// The guard has no thread: it looks at the memory when it is asked, at most every 100 ms.
// Thread-safe.
class PressureGuard {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Sources {
    std::function<HostMemory()> read;
    std::function<Time()> now = [] { return std::chrono::steady_clock::now(); };
    // Called once when the pressure begins and once when it ends. It must not call the guard.
    std::function<void(bool pressed, const HostMemory& memory)> on_change;
  };

  // `mark_percent` is in [0, 99]. With 0 the guard is off: it reads nothing and is never pressed.
  PressureGuard(int64_t mark_percent, Sources sources);

  bool pressed();
  // Returns the share of a usual window that the next window may take: 1, or less if pressed.
  double window_share();

  // Lets the cache hold `bytes`, and a quarter of them while the host is pressed. The cache must
  // live until forget(), and may not call the guard while it holds a lock that its shrink_to()
  // takes.
  void watch(Shrinkable& cache, int64_t bytes);
  void forget(Shrinkable& cache);

 private:
  struct Watched {
    Shrinkable* cache;
    int64_t bytes;
  };

  void look();
  bool begins(const HostMemory& memory) const;
  void change(bool pressed, const HostMemory& memory);
  void limit(const Watched& watched) const;

  const int64_t mark_percent_;
  const Sources sources_;
  std::mutex mutex_;
  // mutex_ guards all members below.
  std::vector<Watched> watched_;
  Time next_look_ = Time::min();
  Time next_step_ = Time::min();
  bool pressed_ = false;
  double window_share_ = 1;
};

}  // namespace encode
