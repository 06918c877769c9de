// Reads a file and checks it against a seal: its size and its checksum, which a log record or a
// manifest states.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "encode/store.h"

namespace encode {

// Calls `on_bytes` with the bytes of the file, in order, one block at a time. Throws Error kData
// "store.damaged" if the size or the checksum is not the one in `seal`. The checksum is known only
// after the last call, so do not publish anything made of the bytes before the function returns.
// Also throws what open_for_reading() and pread_all() throw, and passes on what `on_bytes` throws.
void read_sealed_file(const std::string& path, const FileSeal& seal,
                      const std::function<void(std::string_view)>& on_bytes);

// Calls `on_number` with each element of a .npy vector of int64, in order. Throws what
// read_sealed_file() throws.
void read_sealed_numbers(const std::string& path, const FileSeal& seal,
                         const std::function<void(int64_t)>& on_number);

}  // namespace encode
