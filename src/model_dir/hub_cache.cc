#include "model_dir/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>

#include "model_dir/model_folder.h"

namespace encode {

std::vector<std::string> hub_cache_folders() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::vector<std::string> folders;
  const auto add = [&folders](const std::string& root, const char* below) {
    if (root.empty()) return;
    std::string path = root + below;
    if (std::find(folders.begin(), folders.end(), path) == folders.end())
      folders.push_back(std::move(path));
  };
  add(variable("HF_HUB_CACHE"), "");
  add(variable("HUGGINGFACE_HUB_CACHE"), "");
  add(variable("HF_HOME"), "/hub");
  add(variable("XDG_CACHE_HOME"), "/huggingface/hub");
  add(variable("HOME"), "/.cache/huggingface/hub");
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
