// Decides whether a request is repeated, and waits before it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "encode/error.h"

#include "hub/observer.h"

namespace encode::hub {

// The longest wait that a server may ask for (Retry-After).
inline constexpr std::chrono::seconds kLongestWait{120};

// Counts the failures of one piece of work. The waits are 0.5, 1, 2, 4 and then 8 seconds, or the
// time that the server states. Not thread-safe.
class Retries {
 public:
  // `subject` names the work in notes: "model.safetensors".
  Retries(int64_t most, std::string subject, PullObserver& observer);

  // Waits before the next attempt. Throws `failure` if there was one too many, or if the server
  // asks for more than kLongestWait.
  void wait_or_throw(const Error& failure, std::optional<std::chrono::seconds> retry_after);
  // Resets the count after an attempt that made progress.
  void made_progress() { failures_ = 0; }

 private:
  const int64_t most_;
  const std::string subject_;
  PullObserver& observer_;
  int64_t failures_ = 0;
};

// Returns the wait after the given number of failures, which is at least 1.
std::chrono::milliseconds backoff(int64_t failures);

}  // namespace encode::hub
