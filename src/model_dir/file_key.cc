#include "model_dir/file_key.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sys/stat.h>

#include "encode/error.h"

namespace encode {
namespace {

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileKey key_of(const UniqueFd& fd, const std::string& path) {
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) throw system_error("io.stat", "stat", path, errno);
  return {.device = static_cast<int64_t>(info.st_dev),
          .inode = static_cast<int64_t>(info.st_ino),
          .size = info.st_size,
          .mtime_ns = nanoseconds(info.st_mtim),
          .ctime_ns = nanoseconds(info.st_ctim)};
}

bool is_settled(const FileKey& key, int64_t min_age_ns) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now) - std::max(key.mtime_ns, key.ctime_ns) >= min_age_ns;
}

}  // namespace encode
