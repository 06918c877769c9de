#include "hub/retries.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>
#include <utility>

#include "base/units.h"

namespace encode::hub {

std::chrono::milliseconds backoff(int64_t failures) {
  constexpr std::chrono::milliseconds kFirst{500};
  constexpr int64_t kMostDoublings = 4;
  return kFirst * (1 << std::clamp<int64_t>(failures - 1, 0, kMostDoublings));
}

Retries::Retries(int64_t most, std::string subject, PullObserver& observer)
    : most_(most), subject_(std::move(subject)), observer_(observer) {}

void Retries::wait_or_throw(const Error& failure, std::optional<std::chrono::seconds> retry_after) {
  if (++failures_ > most_ || retry_after > kLongestWait) throw Error(failure.detail());
  const std::chrono::milliseconds wait =
      retry_after ? std::chrono::milliseconds(*retry_after) : backoff(failures_);
  const ErrorDetail& detail = failure.detail();
  observer_.note(fmt::format("{}: {} ({}); attempt {} of {} starts in {}", subject_, detail.what,
                             detail.found, failures_ + 1, most_ + 1,
                             format_duration(std::chrono::duration<double>(wait).count())));
  std::this_thread::sleep_for(wait);
}

}  // namespace encode::hub
