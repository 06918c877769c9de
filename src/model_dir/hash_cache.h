// Remembers the SHA-256 of files, so that the weights are not hashed at every start.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace encode {

// What identifies the content of a file without reading it. ctime is what makes it honest: an edit
// that keeps the size and sets mtime back still changes ctime, which no system call can set.
struct FileKey {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  auto operator<=>(const FileKey&) const = default;
};
FileKey file_key(const struct stat& info);

// One file on disk, replaced as a whole. One thread. A damaged file is an empty cache.
class HashCache {
 public:
  // Time stamps have the granularity of the kernel's clock tick: a file written just now may be
  // written again without a change of its key, so keys younger than `min_age_ns` are neither found
  // nor stored.
  static constexpr int64_t kMinAgeNs = 2'000'000'000;
  // `path` "": remembers nothing.
  HashCache(std::string path, int64_t min_age_ns);

  std::optional<std::string> find(const FileKey& key) const;
  void store(const FileKey& key, const std::string& sha256);
  // Writes the file if something was stored. Never throws: without the cache the next run is
  // slower, not wrong.
  void save() const noexcept;

 private:
  bool is_settled(const FileKey& key) const;

  std::string path_;
  int64_t min_age_ns_;
  bool changed_ = false;
  std::map<FileKey, std::string> hashes_;
};

}  // namespace encode
