#include "job/pressure_guard.h"

#include <algorithm>
#include <utility>

namespace encode {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(100);
constexpr auto kStepInterval = std::chrono::seconds(1);
constexpr double kFirstShare = 1.0 / 4;
constexpr double kLeastShare = 1.0 / 16;
constexpr double kReleaseShare = 15.0 / 17;  // of the mark: 75 % for a mark of 85 %
constexpr double kMostStalledPercent = 10;
constexpr int64_t kCacheDivisor = 4;

}  // namespace

PressureGuard::PressureGuard(int64_t mark_percent, Sources sources)
    : mark_percent_(mark_percent), sources_(std::move(sources)) {}

bool PressureGuard::pressed() {
  const std::lock_guard lock(mutex_);
  look();
  return pressed_;
}

double PressureGuard::window_share() {
  const std::lock_guard lock(mutex_);
  look();
  return window_share_;
}

void PressureGuard::watch(Shrinkable& cache, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit(watched_.emplace_back(Watched{.cache = &cache, .bytes = bytes}));
}

void PressureGuard::forget(Shrinkable& cache) {
  const std::lock_guard lock(mutex_);
  std::erase_if(watched_, [&cache](const Watched& watched) { return watched.cache == &cache; });
}

void PressureGuard::look() {
  if (mark_percent_ == 0) return;
  const Time now = sources_.now();
  if (now < next_look_) return;
  next_look_ = now + kLookInterval;
  const HostMemory memory = sources_.read();
  if (!pressed_ && begins(memory)) {
    next_step_ = now + kStepInterval;
    window_share_ = std::min(window_share_, kFirstShare);
    return change(true, memory);
  }
  if (pressed_ && memory.used_percent() <= static_cast<double>(mark_percent_) * kReleaseShare) {
    next_step_ = now + kStepInterval;
    return change(false, memory);
  }
  if (now < next_step_) return;
  next_step_ = now + kStepInterval;
  window_share_ =
      pressed_ ? std::max(window_share_ / 2, kLeastShare) : std::min(window_share_ * 2, 1.0);
}

bool PressureGuard::begins(const HostMemory& memory) const {
  const auto mark = static_cast<double>(mark_percent_);
  const double used = memory.used_percent();
  return used >= mark ||
         (used > mark * kReleaseShare && memory.stalled_percent >= kMostStalledPercent);
}

void PressureGuard::change(bool pressed, const HostMemory& memory) {
  pressed_ = pressed;
  for (const Watched& watched : watched_) limit(watched);
  sources_.on_change(pressed, memory);
}

void PressureGuard::limit(const Watched& watched) const {
  watched.cache->shrink_to(pressed_ ? watched.bytes / kCacheDivisor : watched.bytes);
}

}  // namespace encode
