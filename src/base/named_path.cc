#include "base/named_path.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "encode/error.h"

#include "base/path_kind.h"
#include "base/units.h"

namespace encode {
namespace {

namespace fs = std::filesystem;

constexpr int kMostEntries = 10'000;

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  for (int i = 0; !failure && entry != fs::directory_iterator() && i < kMostEntries; ++i) {
    std::error_code unknown;
    if (entry->is_regular_file(unknown)) names.push_back(entry->path().filename().string());
    entry.increment(failure);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string without_digits(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

// Returns the file in the folder for whose name `name` is probably a typo, or "". Names with the
// same suffix are compared without the suffix, because it is the larger part of a short name. Names
// that differ only in digits, such as part-1 and part-2, are no typos.
std::string nearest_file(const fs::path& folder, const std::string& name) {
  const auto suffix_of = [](const std::string& file) {
    return fs::path(file).extension().string();
  };
  const std::string suffix = suffix_of(name);
  std::vector<std::string> stems;
  std::vector<std::string> others;
  for (const std::string& file : files_in(folder)) {
    if (without_digits(file) == without_digits(name)) continue;
    if (suffix_of(file) == suffix) {
      stems.push_back(fs::path(file).stem().string());
    } else {
      others.push_back(file);
    }
  }
  const std::string stem = nearest(fs::path(name).stem().string(), stems.data(), stems.size());
  return stem.empty() ? nearest(name, others.data(), others.size()) : stem + suffix;
}

// Returns the absolute path of the folder of a file.
std::string folder_of(const fs::path& path) {
  std::error_code unknown;
  const fs::path absolute = fs::absolute(path, unknown);
  return (unknown ? path : absolute).parent_path().lexically_normal().string();
}

}  // namespace

std::string describe_dangling_link(const std::string& path) {
  std::error_code unknown;
  if (!fs::is_symlink(fs::symlink_status(path, unknown)) || fs::exists(path, unknown)) return "";
  return fmt::format("a symbolic link to '{}', which does not exist",
                     fs::read_symlink(path, unknown).string());
}

std::string start_of_relative_path(const std::string& path) {
  if (path.starts_with('/')) return "";
  std::error_code unknown;
  return fmt::format("; relative paths start at the current directory, {}",
                     fs::current_path(unknown).string());
}

void require_named_file(const std::string& path, ErrorCode code) {
  if (path_exists(path, code)) return;
  const std::string folder = folder_of(path);
  const std::string name = fs::path(path).filename().string();
  ErrorDetail detail = system_error(code, "open", path, ENOENT).detail();
  detail.hint = "check the path" + start_of_relative_path(path);
  std::error_code unknown;
  if (const std::string link = describe_dangling_link(path); !link.empty()) {
    detail.found = link;
    detail.hint = "correct the link, or name the file itself";
  } else if (!fs::is_directory(folder, unknown)) {
    detail.found = fmt::format("no folder {}", folder);
  } else {
    detail.found = fmt::format("no file '{}' in {}", name, folder);
    const std::string near = nearest_file(folder, name);
    if (!near.empty())
      detail.hint = fmt::format("did you mean {}?", fs::path(path).replace_filename(near).string());
  }
  throw Error(std::move(detail));
}

UniqueFd open_named_file(const std::string& path, ErrorCode code) {
  require_named_file(path, code);
  return open_for_reading(path, code);
}

}  // namespace encode
