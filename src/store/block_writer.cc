#include "store/block_writer.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "encode/error.h"

#include "base/system_call.h"

namespace encode {
namespace {

// Through the page cache. The kernel takes long for one large write, because it looks for memory
// without gaps.
constexpr size_t kCachedBytes = size_t{1} << 20;

UniqueFd open_direct(const AtomicFile& file) {
  constexpr int kFlags = O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC;
  return UniqueFd(retried([&] { return ::open(file.temp_path().c_str(), kFlags); }));
}

}  // namespace

BlockWriter::BlockWriter(AtomicFile& file)
    : file_(file), direct_(open_direct(file)), is_direct_(static_cast<bool>(direct_)) {}

void BlockWriter::write(int64_t offset, std::span<const std::byte> block) {
  constexpr auto kUnit = static_cast<size_t>(kDirectAlignment);
  const bool aligned =
      offset % kDirectAlignment == 0 && reinterpret_cast<uintptr_t>(block.data()) % kUnit == 0;
  size_t done = 0;
  if (is_direct_ && aligned)
    done = write_directly(offset, block.first(block.size() / kUnit * kUnit));
  while (done < block.size()) {
    const size_t size = std::min(kCachedBytes, block.size() - done);
    file_.overwrite(offset + static_cast<int64_t>(done), block.data() + done, size);
    done += size;
  }
}

size_t BlockWriter::write_directly(int64_t offset, std::span<const std::byte> block) {
  size_t done = 0;
  while (done < block.size()) {
    const ssize_t n = retried([&] {
      return ::pwrite(direct_.get(), block.data() + done, block.size() - done,
                      static_cast<off_t>(offset + static_cast<int64_t>(done)));
    });
    if (n < 0 && errno != EINVAL) throw system_error("io.write", "write", file_.path(), errno);
    if (n <= 0) {
      is_direct_ = false;
      return done;
    }
    done += static_cast<size_t>(n);
    if (n % kDirectAlignment != 0) return done;
  }
  return done;
}

}  // namespace encode
