#include "hub/file_lock.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

#include "encode/error.h"

#include "base/system_call.h"
#include "base/units.h"
#include "hub/cache_code.h"

namespace encode::hub {
namespace {

constexpr mode_t kGroupMayLock = 0664;  // as huggingface_hub, for users who share a cache

UniqueFd open_lock(const std::string& path) {
  UniqueFd fd(retried([&] {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kGroupMayLock);
  }));
  if (!fd) throw system_error(kCacheCode, "open a lock", path, errno);
  return fd;
}

// Returns false if another process holds the lock.
bool try_lock(const UniqueFd& fd, const std::string& path) {
  if (retried([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  throw system_error(kCacheCode, "lock a file of the cache (HF_HUB_CACHE may name another disk)",
                     path, errno);
}

// Returns false if the file was deleted after it was opened. Some versions of filelock do so.
bool is_still_there(const UniqueFd& fd, const std::string& path) {
  struct stat mine = {};
  struct stat named = {};
  return ::fstat(fd.get(), &mine) == 0 && ::stat(path.c_str(), &named) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

}  // namespace

FileLock::FileLock(const std::string& path, PullObserver& observer) {
  constexpr std::chrono::milliseconds kStep{100};
  constexpr int kStepsPerNote = 100;
  create_directories_durably(parent_directory(path));
  for (int step = 0;; ++step) {
    fd_ = open_lock(path);
    if (try_lock(fd_, path)) {
      if (is_still_there(fd_, path)) return;
      continue;
    }
    if (step % kStepsPerNote == 0)
      observer.note(
          fmt::format("waiting for another program that downloads the same file ({})", path));
    std::this_thread::sleep_for(kStep);
  }
}

}  // namespace encode::hub
