#include "supervisor/worker/hang_watch.h"

#include <algorithm>

namespace encode {

void HangWatch::batch(Clock::time_point now) {
  if (watching_) {
    if (batches_.size() < kWindow) batches_.push_back({});
    batches_[next_] = now - last_;
    next_ = (next_ + 1) % kWindow;
  }
  alive(now);
}

void HangWatch::loading(Clock::time_point now) {
  loading_ = true;
  sign_of_life(now);
}

void HangWatch::alive(Clock::time_point now) {
  loading_ = false;
  sign_of_life(now);
}

void HangWatch::forgive(Clock::time_point now) {
  if (watching_) sign_of_life(now);
}

void HangWatch::sign_of_life(Clock::time_point now) {
  watching_ = true;
  last_ = now;
  deadline_ = now + patience();
}

Clock::duration HangWatch::patience() const {
  constexpr int kMedians = 20;
  if (loading_) return loading_patience_;
  if (batches_.empty()) return floor_;
  std::vector<Clock::duration> sorted = batches_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return std::max(floor_, kMedians * *middle);
}

}  // namespace encode
