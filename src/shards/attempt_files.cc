#include "shards/attempt_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "encode/error.h"
#include "encode/store.h"

#include "base/file.h"
#include "base/output_types.h"
#include "base/path_kind.h"
#include "store/chunk_places.h"
#include "store/layout.h"
#include "store/run_files.h"

namespace encode {
namespace {

// Returns nullopt if nothing has the path.
std::optional<struct stat> stat_of(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) == 0) return info;
  if (means_absent(errno)) return std::nullopt;
  throw system_error("io.stat", "stat", path, errno);
}

bool is_real_file(const std::string& path) {
  const std::optional<struct stat> info = stat_of(path);
  return info && S_ISREG(info->st_mode);
}

// What follows the name of a stream in the names of the files of its final matrix, in all formats:
// "_embeddings.npy", "_embeddings.npy.manifest.json", "_embeddings.truncated.jsonl", ...
const std::set<std::string>& final_suffixes() {
  static const std::set<std::string> suffixes = [] {
    std::set<std::string> found;
    for (const auto& [name, format] : kMatrixFormats) {
      for (const std::string& path : final_files(final_path(".", "x", format)))
        found.insert(std::filesystem::path(path).filename().string().substr(1));
    }
    return found;
  }();
  return suffixes;
}

bool is_file_of_final(std::string_view name) {
  return std::ranges::any_of(final_suffixes(), [&](const std::string& suffix) {
    return name.size() > suffix.size() && name.ends_with(suffix);
  });
}

bool is_file_of_run(std::string_view name) {
  return run_file_kind(name) != nullptr || is_file_of_final(name);
}

// Adds the entries of a folder: those whose names `is_own` accepts and that are files, and the
// others, as foreign.
template <typename IsOwn>
void add_entries(const std::string& folder, const IsOwn& is_own, AttemptFiles& found) {
  for (const std::string& name : list_directory(folder)) {
    const std::string path = join_path(folder, name);
    const bool own = is_own(name) && is_real_file(path);
    (own ? found.files : found.foreign).push_back(path);
  }
  found.folders.push_back(folder);
}

bool is_chunk_folder(const std::string& path) {
  return path.ends_with(kChunksSuffix) && is_real_directory(path);
}

}  // namespace

bool is_real_directory(const std::string& path) {
  const std::optional<struct stat> info = stat_of(path);
  return info && S_ISDIR(info->st_mode);
}

AttemptFiles chunks_of_attempt(const std::string& folder) {
  AttemptFiles found;
  for (const std::string& name : list_directory(folder)) {
    const std::string path = join_path(folder, name);
    if (!is_chunk_folder(path)) continue;
    const auto is_own = [](const std::string& file) { return is_chunk_folder_name(file); };
    const std::vector<std::string> subfolders = chunk_subfolders(path);
    for (const std::string& subfolder : subfolders)
      add_entries(join_path(path, subfolder), is_own, found);
    add_entries(path, is_own, found);
    std::erase_if(found.foreign, [&](const std::string& entry) {
      return std::ranges::any_of(subfolders, [&](const std::string& subfolder) {
        return entry == join_path(path, subfolder);
      });
    });
  }
  return found;
}

AttemptFiles files_of_attempt(const std::string& folder) {
  AttemptFiles found = chunks_of_attempt(folder);
  AttemptFiles own;
  const auto is_own = [](const std::string& name) {
    return is_file_of_run(temp_file_target(name).value_or(name));
  };
  add_entries(folder, is_own, own);
  std::erase_if(own.foreign, is_chunk_folder);  // their entries are listed
  const std::string lock = RunFiles(folder).lock();
  std::ranges::stable_partition(own.files, [&](const std::string& path) { return path != lock; });
  found.files.insert(found.files.end(), own.files.begin(), own.files.end());
  found.folders.push_back(folder);
  found.foreign.insert(found.foreign.end(), own.foreign.begin(), own.foreign.end());
  return found;
}

AttemptFiles files_of_output(const std::string& folder, const std::string& output_name) {
  AttemptFiles found;
  if (!is_real_directory(folder)) return found;
  std::set<std::string> names;
  for (const std::string& path : final_files(output_name)) names.insert(path);
  const auto is_own = [&](const std::string& name) {
    return names.contains(temp_file_target(name).value_or(name));
  };
  add_entries(folder, is_own, found);
  return found;
}

void remove_files(const AttemptFiles& files) {
  for (const std::string& path : files.files) remove_file(path);
  for (const std::string& path : files.folders) {
    const bool stays = ::rmdir(path.c_str()) != 0;
    // NFS renames a deleted file that is still open, so its folder is not empty.
    if (stays && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
      throw system_error("io.remove", "delete folder", path, errno);
  }
}

int64_t freed_bytes(const std::vector<std::string>& files) {
  struct Links {
    int64_t bytes = 0;
    nlink_t names = 0;    // of the file
    nlink_t deleted = 0;  // those of them that are in `files`
  };
  std::map<std::pair<dev_t, ino_t>, Links> links;
  for (const std::string& path : files) {
    const std::optional<struct stat> info = stat_of(path);
    if (!info) continue;
    Links& link = links[{info->st_dev, info->st_ino}];
    link.bytes = info->st_size;
    link.names = info->st_nlink;
    ++link.deleted;
  }
  int64_t bytes = 0;
  for (const auto& [file, link] : links) {
    if (link.deleted == link.names) bytes += link.bytes;
  }
  return bytes;
}

}  // namespace encode
