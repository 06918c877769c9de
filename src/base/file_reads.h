// Reads of a part of a file, and of a file in blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "encode/error_code.h"

#include "base/file.h"

namespace encode {

// Returns the first bytes of a file, fewer than `bytes` if the file is shorter. Throws what
// open_for_reading() and pread_all() throw.
std::string read_head(const std::string& path, int64_t bytes, ErrorCode code);

// Calls `take` with the first `size` bytes of an open file, in order, one block at a time. A block
// has at most kFileBlockBytes, which is a multiple of the size of every element type, so that no
// block ends inside an element. `path` is for messages. Throws what pread_all() throws.
inline constexpr int64_t kFileBlockBytes = 1 << 20;
void for_blocks(const UniqueFd& fd, int64_t size, const std::string& path,
                const std::function<void(std::string_view)>& take);

}  // namespace encode
