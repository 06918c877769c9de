// Finds out whether the kernel killed a worker for lack of host memory.
#pragma once

#include <functional>
#include <optional>

#include "encode/error.h"

#include "base/oom_kills.h"
#include "supervisor/worker/child_process.h"

namespace encode {

// The code of the error that cause() returns.
inline constexpr ErrorCode kOomKill = "host.oom_kill";

// Compares the kernel's count of killed processes before and after a worker. Not thread-safe.
class OomWatch {
 public:
  // Construct it before the worker starts. `read` reads the count.
  explicit OomWatch(std::function<std::optional<OomKills>()> read = [] { return oom_kills(); })
      : read_(std::move(read)), before_(read_()) {}

  // Returns the error kTempFail "host.oom_kill" if SIGKILL ended the worker and the count has grown
  // since the construction. The caller must have sent no SIGKILL itself.
  std::optional<ErrorDetail> cause(const ExitStatus& status) const;

 private:
  const std::function<std::optional<OomKills>()> read_;
  const std::optional<OomKills> before_;
};

// The share of a usual window that the next worker gets: JobUnit::window_share. A kill for lack of
// host memory halves it, and it never grows again within a run. Not thread-safe.
class WindowShare {
 public:
  double value() const { return share_; }
  // Halves the share and returns true if `code` is kOomKill and the share can become smaller.
  bool halve_after(ErrorCode code);

 private:
  double share_ = 1;
};

}  // namespace encode
