#include "store/chunk_places.h"

#include <filesystem>
#include <fmt/format.h>
#include <system_error>

#include "base/file.h"

namespace encode {

std::string ChunkPlaces::name(int64_t index, ChunkPart part) const {
  const std::string file = chunk_file_name(index, part);
  return has_folders() ? fmt::format("{:03}/{}", index / folder_chunks_, file) : file;
}

std::string ChunkPlaces::path(int64_t index, ChunkPart part) const {
  return join_path(directory_, name(index, part));
}

std::string ChunkPlaces::folder(int64_t index) const {
  return has_folders() ? parent_directory(path(index)) : directory_;
}

bool is_chunk_subfolder(std::string_view name) {
  return name.size() >= 3 && name.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string> chunk_subfolders(const std::string& directory) {
  std::vector<std::string> names = list_directory(directory);
  std::erase_if(names, [&](const std::string& name) {
    std::error_code absent;
    return !is_chunk_subfolder(name) ||
           !std::filesystem::is_directory(
               std::filesystem::symlink_status(join_path(directory, name), absent));
  });
  return names;
}

std::vector<std::string> entries_of_stream(const std::string& directory) {
  std::vector<std::string> entries = list_directory(directory);
  for (const std::string& folder : chunk_subfolders(directory)) {
    std::erase(entries, folder);
    for (const std::string& name : list_directory(join_path(directory, folder)))
      entries.push_back(join_path(folder, name));
  }
  return entries;
}

void ChunkFolders::create(int64_t index) {
  const std::string folder = places_.folder(index);
  if (!places_.has_folders() || created_.contains(folder)) return;
  create_directories_durably(folder);
  sync_directory(parent_directory(folder));
  created_.insert(folder);
}

}  // namespace encode
