// The functions of file.h that read files.
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <unistd.h>

#include "encode/error.h"

#include "base/file.h"
#include "base/system_call.h"

namespace encode {

std::string read_file(const std::string& path, int64_t max_bytes, ErrorCode code) {
  const UniqueFd fd = open_for_reading(path, code);
  const int64_t size = file_size(fd, path);
  if (size > max_bytes) {
    throw Error({.code = code,
                 .exit_code = ExitCode::kConfig,
                 .what = "the file is too large",
                 .where = path,
                 .expected = fmt::format("at most {} bytes", max_bytes),
                 .found = fmt::format("{} bytes", size),
                 .hint = "check that this is the file you meant"});
  }
  std::string content(static_cast<size_t>(size), '\0');
  pread_all(fd, content, 0, path);
  return content;
}

std::optional<size_t> pread_up_to(const UniqueFd& fd, std::span<char> to, int64_t offset) {
  size_t done = 0;
  while (done < to.size()) {
    const ssize_t n = retried([&] {
      return ::pread(fd.get(), to.data() + done, to.size() - done,
                     static_cast<off_t>(offset) + static_cast<off_t>(done));
    });
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

void pread_all(const UniqueFd& fd, std::span<char> to, int64_t offset, const std::string& path) {
  const std::optional<size_t> bytes = pread_up_to(fd, to, offset);
  if (!bytes) throw system_error("io.read", "read", path, errno);
  if (*bytes == to.size()) return;
  throw Error({.code = "io.read",
               .what = "the file ends early",
               .where = path,
               .expected = fmt::format("{} bytes at offset {}", to.size(), offset),
               .found = fmt::format("{} bytes", *bytes),
               .hint = "copy the file again, and do not change it while it is read"});
}

std::string read_head(const std::string& path, int64_t bytes, ErrorCode code) {
  const UniqueFd fd = open_for_reading(path, code);
  std::string head(static_cast<size_t>(std::min(bytes, file_size(fd, path))), '\0');
  pread_all(fd, head, 0, path);
  return head;
}

void for_blocks(const UniqueFd& fd, int64_t size, const std::string& path,
                const std::function<void(std::string_view)>& take) {
  std::string block;
  for (int64_t at = 0; at < size; at += static_cast<int64_t>(block.size())) {
    block.resize(static_cast<size_t>(std::min(kFileBlockBytes, size - at)));
    pread_all(fd, block, at, path);
    take(block);
  }
}

}  // namespace encode
