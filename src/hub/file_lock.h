// A lock that other programs can see, such as huggingface_hub.
#pragma once

#include <string>

#include "base/file.h"
#include "hub/observer.h"

namespace encode::hub {

// Holds flock(2) on a file, as Python's filelock does. The kernel frees the lock if the process
// dies. The file stays, because another process may wait for it.
class FileLock {
 public:
  // Waits until no other process holds the lock, and tells `observer` every ten seconds. `path` is
  // created with its folder. Throws Error "hub.cache" with the exit code of the system error, also
  // if the file system has no locks.
  FileLock(const std::string& path, PullObserver& observer);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() = default;  // closing the descriptor frees the lock

 private:
  UniqueFd fd_;
};

}  // namespace encode::hub
