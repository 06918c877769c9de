#include "base/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include "encode/error.h"

#include "base/path_kind.h"

namespace encode {

ScratchFolder::ScratchFolder(const std::string& path, std::string_view kind) {
  namespace fs = std::filesystem;
  fs::path beside = fs::absolute(path).lexically_normal();
  if (!beside.has_filename()) beside = beside.parent_path();
  fs::path directory = beside.parent_path();
  while (!path_exists(directory.string(), "io.mkdir") && directory.has_relative_path())
    directory = directory.parent_path();
  path_ = fmt::format("{}.{}.XXXXXX", (directory / beside.filename()).string(), kind);
  if (::mkdtemp(path_.data()) == nullptr)
    throw system_error("io.mkdir", "create a directory", path_, errno);
}

std::string temporary_place() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return (error ? "/tmp" : folder.string()) + "/encode";
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace encode
