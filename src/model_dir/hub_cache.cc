#include "model_dir/hub_cache.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/environment.h"
#include "model_dir/model_folder.h"

namespace encode {

std::vector<std::string> hub_homes() {
  constexpr std::array<std::pair<const char*, const char*>, 3> kPlaces = {
      {{"HF_HOME", ""}, {"XDG_CACHE_HOME", "/huggingface"}, {"HOME", "/.cache/huggingface"}}};
  std::vector<std::string> homes;
  for (const auto& [name, below] : kPlaces) {
    if (const std::string root = environment_variable(name); !root.empty())
      homes.push_back(root + below);
  }
  return homes;
}

std::vector<std::string> hub_cache_folders() {
  std::vector<std::string> folders;
  const auto add = [&folders](const std::string& path) {
    if (!path.empty() && std::find(folders.begin(), folders.end(), path) == folders.end())
      folders.push_back(path);
  };
  add(environment_variable("HF_HUB_CACHE"));
  add(environment_variable("HUGGINGFACE_HUB_CACHE"));
  for (const std::string& home : hub_homes()) add(home + "/hub");
  return folders;
}

std::string hub_repository_folder(std::string_view id) {
  return fmt::format("models--{}", fmt::join(split_path(id), "--"));
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t slash = 0; slash != std::string_view::npos; begin = slash + 1) {
    slash = path.find('/', begin);
    parts.emplace_back(path.substr(begin, slash == std::string_view::npos ? slash : slash - begin));
  }
  return parts;
}

bool is_safe_path(std::string_view path) {
  const std::vector<std::string> parts = split_path(path);
  return std::all_of(parts.begin(), parts.end(), is_safe_name);
}

bool is_commit(std::string_view revision) {
  return revision.size() == 40 &&
         revision.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace encode
