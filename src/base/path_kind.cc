#include "base/path_kind.h"

#include <cerrno>
#include <sys/stat.h>

#include "encode/error.h"

namespace encode {

bool means_absent(int error_number) { return error_number == ENOENT || error_number == ENOTDIR; }

PathKind path_kind(const std::string& path, ErrorCode code) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    if (means_absent(errno)) return PathKind::kAbsent;
    throw system_error(code, "look for", path, errno);
  }
  if (S_ISDIR(info.st_mode)) return PathKind::kDirectory;
  return S_ISREG(info.st_mode) ? PathKind::kFile : PathKind::kOther;
}

bool is_directory(const std::string& path, ErrorCode code) {
  return path_kind(path, code) == PathKind::kDirectory;
}

bool path_exists(const std::string& path, ErrorCode code) {
  return path_kind(path, code) != PathKind::kAbsent;
}

}  // namespace encode
