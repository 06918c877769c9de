// Reads the FileKey of a file, and says whether the key proves that the content has not changed.
// Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>

#include "encode/model_directory.h"

#include "base/file.h"

namespace encode {

// Time stamps have the granularity of the kernel's clock tick, and of a second or two on some file
// systems. So a file that was written a moment ago can be written once more and keep its key.
inline constexpr int64_t kMinAgeNs = 2'000'000'000;

// Throws Error kIoError "io.stat".
FileKey key_of(const UniqueFd& fd, const std::string& path);

// Returns true if the time stamps are at least `min_age_ns` old, so that every later write must
// change the key. Call it before the content is read. A time stamp in the future is never settled,
// because the clock was set back, and the same time may occur again.
bool is_settled(const FileKey& key, int64_t min_age_ns);

}  // namespace encode
