// Shows a download: a live line on a terminal, or lines in a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "hub/observer.h"
#include "run_record/terminal.h"

namespace encode {

// Not thread-safe.
class PullProgress : public hub::PullObserver {
 public:
  explicit PullProgress(Terminal& terminal) : terminal_(terminal) {}  // which must outlive this

  void note(const std::string& text) override;
  void progress(const std::string& path, int64_t done, int64_t total) override;
  void finished(const std::string& path, int64_t total, int64_t fetched) override;

 private:
  using Clock = std::chrono::steady_clock;
  void begin(const std::string& path, int64_t done, Clock::time_point now);
  std::string facts(int64_t done, int64_t total, Clock::time_point now) const;

  Terminal& terminal_;
  std::string path_;         // the file that is downloaded
  int64_t first_bytes_ = 0;  // of the file that were there when its download began
  Clock::time_point begun_;
  Clock::time_point shown_;
};

}  // namespace encode
