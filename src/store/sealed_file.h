// Reads a file and checks it against a seal: its size and its checksum, which a log record or a
// manifest states.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "encode/store.h"

namespace encode {

// Calls `on_bytes` with the bytes of the file, in order, one block at a time. Throws Error kData
// "store.damaged" if the size or the checksum differs from `seal`. The checksum is known only after
// the last block. So do not publish anything made from the bytes before the function returns.
void read_sealed_file(const std::string& path, const FileSeal& seal,
                      const std::function<void(std::string_view)>& on_bytes);

}  // namespace encode
