#include "base/file_reads.h"

#include <algorithm>

namespace encode {

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
