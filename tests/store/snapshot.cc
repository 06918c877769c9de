#include "store/snapshot.h"

#include <filesystem>

#include "support/temp_dir.h"

namespace encode::testing {

namespace fs = std::filesystem;

Snapshot take_snapshot(const std::string& directory) {
  Snapshot snapshot;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    snapshot[fs::relative(entry.path(), directory).string()] = read_bytes(entry.path().string());
  }
  return snapshot;
}

void restore_snapshot(const std::string& directory, const Snapshot& snapshot) {
  std::error_code ignored;
  const Snapshot present = take_snapshot(directory);
  for (const auto& [name, content] : present) {
    if (!snapshot.contains(name)) fs::remove(fs::path(directory) / name, ignored);
  }
  for (const auto& [name, content] : snapshot) {
    if (const auto same = present.find(name); same != present.end() && same->second == content)
      continue;
    const std::string path = (fs::path(directory) / name).string();
    fs::create_directories(fs::path(path).parent_path());
    write_bytes(path, content);
  }
}

}  // namespace encode::testing
