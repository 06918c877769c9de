// The interface through which a download reports its progress. Its functions must not throw.
#pragma once

#include <cstdint>
#include <string>

namespace encode::hub {

// All texts are for people and have been escaped. The calls come on the thread of the download.
class PullObserver {
 public:
  PullObserver() = default;
  PullObserver(const PullObserver&) = delete;
  PullObserver& operator=(const PullObserver&) = delete;
  virtual ~PullObserver() = default;

  virtual void note(const std::string& text) = 0;  // one sentence: a retry, a wait
  // `done` of the `total` bytes of a file are on the disk. Comes often.
  virtual void progress(const std::string& path, int64_t done, int64_t total) = 0;
  // A file is complete. `fetched` is how many of its bytes came over the network now.
  virtual void finished(const std::string& path, int64_t total, int64_t fetched) = 0;
};

}  // namespace encode::hub
