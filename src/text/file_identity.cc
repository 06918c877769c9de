#include "text/file_identity.h"

#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <utility>

#include "encode/text.h"

#include "base/hash.h"
#include "base/path_kind.h"
#include "base/system_call.h"
#include "base/units.h"

namespace encode {
namespace {

FileIdentity identity_from(const struct stat& info) {
  constexpr int64_t kSecond = 1'000'000'000;
  return {.bytes = info.st_size,
          .inode = static_cast<int64_t>(info.st_ino),
          .mtime_ns = int64_t{info.st_mtim.tv_sec} * kSecond + info.st_mtim.tv_nsec};
}

}  // namespace

FileIdentity identity_of(const UniqueFd& fd, const std::string& path) {
  struct stat info = {};
  if (retried([&] { return ::fstat(fd.get(), &info); }) != 0)
    throw system_error("io.stat", "stat", path, errno);
  return identity_from(info);
}

void read_of_input(const UniqueFd& fd, std::span<char> to, int64_t offset,
                   const std::string& path) {
  try {
    pread_all(fd, to, offset, path);
  } catch (const Error&) {
    const int64_t bytes = file_size(fd, path);
    if (bytes >= offset + std::ssize(to)) throw;
    throw changed_file(path, "the file became shorter while it was read",
                       fmt::format("at least {} bytes", offset + std::ssize(to)),
                       fmt::format("{} bytes", bytes));
  }
}

Error changed_file(const std::string& path, std::string what, std::string expected,
                   std::string found) {
  return Error({.code = "text.changed",
                .what = std::move(what),
                .where = path,
                .expected = std::move(expected),
                .found = std::move(found),
                .hint = "wait until the file is complete, or encode a copy of it"});
}

Error changed_in_run(const std::string& path, std::string what, std::string expected,
                     std::string found) {
  return Error(
      {.code = "text.changed",
       .what = std::move(what),
       .where = path,
       .expected = std::move(expected),
       .found = std::move(found),
       .hint = "do not change an input during a run. All committed chunks are kept: put the old "
               "content back and run the same command to go on from them, or add --fresh to "
               "start over with the new content"});
}

void require_unchanged(const InputScan& scan) {
  for (const InputScan::File& file : scan.files) {
    const FileIdentity scanned = {
        .bytes = file.bytes, .inode = file.inode, .mtime_ns = file.mtime_ns};
    const std::string expected = format_count(scanned.bytes, "byte", "bytes");
    constexpr const char* kWhat = "the input was changed after the run had begun";
    struct stat info = {};
    if (retried([&] { return ::stat(file.path.c_str(), &info); }) != 0) {
      if (!means_absent(errno)) throw system_error("io.stat", "stat", file.path, errno);
      throw changed_in_run(file.path, kWhat, expected, "no such file");
    }
    const FileIdentity now = identity_from(info);
    if (now == scanned) continue;
    if (now.bytes != scanned.bytes)
      throw changed_in_run(file.path, kWhat, expected, format_count(now.bytes, "byte", "bytes"));
    if (sha256_of(open_for_reading(file.path, "text.open"), file.path) != file.sha256)
      throw changed_in_run(file.path, kWhat, expected, "as many bytes with another content");
  }
}

}  // namespace encode
