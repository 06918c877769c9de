#include "base/file_system.h"

#include <cerrno>
#include <filesystem>
#include <limits>
#include <sys/statvfs.h>

#include "base/path_kind.h"

namespace encode {

int find_file_system(const std::string& path, FileSystem& result) {
  std::error_code unknown;
  std::filesystem::path place = std::filesystem::absolute(path, unknown).lexically_normal();
  struct statvfs found = {};
  while (true) {
    result.path = place.string();
    if (::statvfs(result.path.c_str(), &found) == 0) break;
    if (!means_absent(errno) || !place.has_relative_path()) return errno;
    place = place.parent_path();
  }
  const auto bytes = [&found](fsblkcnt_t blocks) {
    int64_t product = 0;
    const bool overflow = __builtin_mul_overflow(blocks, found.f_frsize, &product);
    return overflow ? std::numeric_limits<int64_t>::max() : product;
  };
  result.free_bytes = bytes(found.f_bfree);
  result.usable_bytes = bytes(found.f_bavail);
  result.no_more_files = found.f_files > 0 && found.f_favail == 0;
  result.id = found.f_fsid;
  return 0;
}

}  // namespace encode
