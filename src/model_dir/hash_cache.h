// Remembers the SHA-256 of files, so that the weights are not hashed at every start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace encode {

// Identifies the content of a file without reading the file. An edit that keeps the size and sets
// mtime back still changes ctime, because no system call can set ctime.
struct FileKey {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  auto operator<=>(const FileKey&) const = default;
};
FileKey file_key(const struct stat& info);

// A file on disk that is replaced as a whole. A damaged file is an empty cache. One thread at a
// time may use it.
class HashCache {
 public:
  // Time stamps have the granularity of the kernel's clock tick. So a new file can change again
  // within the same tick and keep its key. Therefore keys younger than `min_age_ns` are neither
  // found nor stored.
  static constexpr int64_t kMinAgeNs = 2'000'000'000;
  // With an empty `path` the cache remembers nothing. Reads the file, and throws no Error if it
  // cannot.
  HashCache(std::string path, int64_t min_age_ns);

  std::optional<std::string> find(const FileKey& key) const;
  void store(const FileKey& key, const std::string& sha256);
  // Writes the file if something was stored. Never throws, because without the cache the next run
  // is slower, but not wrong.
  void save() const noexcept;

 private:
  bool is_settled(const FileKey& key) const;

  std::string path_;
  int64_t min_age_ns_;
  bool changed_ = false;
  std::map<FileKey, std::string> hashes_;
};

}  // namespace encode
