// A folder that is gone when its owner is.
#pragma once

#include <string>

namespace encode {

// Made beside `path`, on the same file system where that exists: "<path>.bench.XXXXXX" in the
// nearest directory above `path` that is there. Destroyed: removed with all that it holds; what
// cannot be removed is left, and nothing else is ever touched. Throws Error kCantCreate or
// kNoPermission.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& path);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace encode
