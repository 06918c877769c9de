// Temporary directories and files for tests.
#pragma once

#include <string>
#include <string_view>

#include "support/paths.h"

namespace encode::testing {

// Makes a directory, and removes it with its content when it is destroyed.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file, makes the folders that it needs, and returns its path.
  std::string write(std::string_view name, std::string_view content) const;

 private:
  std::string path_;
};

std::string read_bytes(const std::string& path);
void write_bytes(const std::string& path, std::string_view content);

}  // namespace encode::testing
