// The free space of a file system, and who else may write to it. Any number of threads may call the
// functions. They throw no Error.
#pragma once

#include <cstdint>
#include <optional>
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
// call that failed for `result.path`.
int find_file_system(const std::string& path, FileSystem& result);

// A kind of file system to which processes may write whose locks this machine does not see.
struct SharedFileSystem {
  int64_t magic = 0;  // statfs(2)
  const char* name = "";
  bool network = true;  // false: a local one may have the same magic
};

// Returns the kind of the file system that `path` is or would be on; nullopt if only this machine
// writes to it, or if the kind is not known.
std::optional<SharedFileSystem> shared_file_system(const std::string& path);

}  // namespace encode
