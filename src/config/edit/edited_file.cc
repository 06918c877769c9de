#include "config/edit/edited_file.h"

#include <filesystem>
#include <system_error>

#include "encode/error.h"

namespace encode {

std::string edited_file(const std::string& path) {
  std::error_code failure;
  const bool link = std::filesystem::is_symlink(path, failure);
  if (!link && (!failure || failure == std::errc::no_such_file_or_directory)) return path;
  const std::string target =
      link ? std::filesystem::canonical(path, failure).string() : std::string();
  if (failure) throw system_error("config.file", "follow the link", path, failure.value());
  return target;
}

}  // namespace encode
