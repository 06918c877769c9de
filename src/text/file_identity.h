// Tells whether an input file is still the one that was opened, without reading it. Any thread may
// call these functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "encode/error.h"

#include "base/file.h"

namespace encode {

struct FileIdentity {
  int64_t bytes = 0;
  int64_t inode = 0;
  int64_t mtime_ns = 0;  // the time of the last write, in nanoseconds since 1970
  bool operator==(const FileIdentity&) const = default;
};

// Throws Error "io.stat".
FileIdentity identity_of(const UniqueFd& fd, const std::string& path);

// Does the same as pread_all(), but a file that has become shorter is an Error "text.changed".
void read_of_input(const UniqueFd& fd, std::span<char> to, int64_t offset, const std::string& path);

// Both return the Error kIoError "text.changed" for an input file: the first one if it is written
// to while it is read, and the second one if it is not the file that the scan of the run has read.
Error changed_file(const std::string& path, std::string what, std::string expected,
                   std::string found);
Error changed_in_run(const std::string& path, std::string what, std::string expected,
                     std::string found);

}  // namespace encode
