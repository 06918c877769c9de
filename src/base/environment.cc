#include "base/environment.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "encode/error.h"

namespace encode {

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string program_path() {
  constexpr const char* kSelf = "/proc/self/exe";
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink(kSelf, failure);
  if (failure) throw system_error("os.self", "find this program", kSelf, failure.value());
  return self.string();
}

std::string program_folder() {
  return std::filesystem::path(program_path()).parent_path().string();
}

std::array<std::string, 3> plugin_places(const std::string& file_name) {
  const std::string folder = program_folder() + "/";
  return {folder + "../lib/" + file_name, folder + kPrivateFolder + "/" + file_name,
          folder + file_name};
}

}  // namespace encode
