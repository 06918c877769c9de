// The free space of a file system. Any number of threads may call the function.
#pragma once

#include <cstdint>
#include <string>

namespace encode {

struct FileSystem {
  std::string path = {};       // the nearest existing file or directory
  int64_t free_bytes = 0;      // includes the blocks that only the superuser may use
  int64_t usable_bytes = 0;    // without these blocks
  bool no_more_files = false;  // it has no inode left
  uint64_t id = 0;             // two directories with the same number are on one file system
};

// Describes the file system that `path` is or would be on. Returns 0, or the errno value of the
// call that failed for `result.path`. Throws no Error.
int find_file_system(const std::string& path, FileSystem& result);

}  // namespace encode
