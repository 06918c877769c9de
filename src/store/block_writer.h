// Writes a large file in large blocks, on several threads, past the page cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/file.h"

namespace encode {

// Blocks that begin and end at multiples of kDirectAlignment in the file, and whose memory begins
// at one, are written past the page cache, if the file system can do that (O_DIRECT). Such a copy
// leaves the cache to others, and the kernel has nothing left to write when the file is synced.
inline constexpr int64_t kDirectAlignment = 4096;

class BlockWriter {
 public:
  // `file` has its final size already, see AtomicFile::extend(), and outlives the object.
  explicit BlockWriter(AtomicFile& file);
  // Any thread may call it, with bytes that no other thread writes. Throws Error kIoError.
  void write(int64_t offset, std::span<const std::byte> block);

 private:
  // Returns how many bytes were written, all of them unless the file system refuses.
  size_t write_directly(int64_t offset, std::span<const std::byte> block);

  AtomicFile& file_;
  const UniqueFd direct_;
  std::atomic<bool> is_direct_;
};

}  // namespace encode
