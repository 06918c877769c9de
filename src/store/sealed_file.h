// Files that another document vouches for by size and checksum.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "encode/store.h"

namespace encode {

// Gives the file's bytes in order, some at a time. Throws Error kData unless they are those that
// `seal` was made of: only after the last call is that known.
void read_sealed_file(const std::string& path, const FileSeal& seal,
                      const std::function<void(std::string_view)>& on_bytes);

}  // namespace encode
