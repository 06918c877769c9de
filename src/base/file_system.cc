#include "base/file_system.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "base/path_kind.h"
#include "base/system_call.h"

namespace encode {
namespace {

// The numbers are those of <linux/magic.h>, or of the file system's own sources. GFS2 and OCFS2 are
// disks that several machines have at the same time.
constexpr auto kShared = std::to_array<SharedFileSystem>({{0x6969, "NFS"},
                                                          {0x0BD00BD0, "Lustre"},
                                                          {0x47504653, "GPFS"},
                                                          {0x19830326, "BeeGFS"},
                                                          {0x00C36400, "Ceph"},
                                                          {0x517B, "SMB"},
                                                          {0xFF534D42, "CIFS"},
                                                          {0xFE534D42, "SMB2"},
                                                          {0x5346414F, "AFS"},
                                                          {0x6B414653, "AFS"},
                                                          {0x73757245, "Coda"},
                                                          {0x01021997, "9P"},
                                                          {0x20030528, "OrangeFS"},
                                                          {0xAAD7AAEA, "PanFS"},
                                                          {0x01161970, "GFS2"},
                                                          {0x7461636F, "OCFS2"},
                                                          {0x65735546, "FUSE", /*network=*/false}});

}  // namespace

std::optional<SharedFileSystem> shared_file_system(const std::string& path) {
  FileSystem place;
  struct statfs info = {};
  if (find_file_system(path, place) != 0) return std::nullopt;
  if (retried([&] { return ::statfs(place.path.c_str(), &info); }) != 0) return std::nullopt;
  const auto magic = static_cast<int64_t>(static_cast<uint32_t>(info.f_type));
  const auto* const found = std::ranges::find(kShared, magic, &SharedFileSystem::magic);
  return found == kShared.end() ? std::nullopt : std::optional(*found);
}

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
