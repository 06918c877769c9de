// A temporary folder that its destructor removes.
#pragma once

#include <string>
#include <string_view>

namespace encode {

// The constructor creates "<name of path>.<kind>.XXXXXX" in the nearest existing directory above
// `path`, so that the folder is normally on the same file system as `path`. The destructor removes
// the folder with its content, ignores failures, and touches nothing else. Any number of threads
// may call path().
class ScratchFolder {
 public:
  // Throws Error "io.mkdir" with the exit code of the system error.
  ScratchFolder(const std::string& path, std::string_view kind);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns a path in the folder that TMPDIR names, or in /tmp, for a ScratchFolder that should not
// be beside an output.
std::string temporary_place();

}  // namespace encode
