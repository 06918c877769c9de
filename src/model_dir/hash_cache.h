// Remembers the SHA-256 of files, so that the weights are not hashed at every start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "encode/model_directory.h"

namespace encode {

// A file on disk that is replaced as a whole. A damaged file is an empty cache. One thread at a
// time may use it.
class HashCache {
 public:
  // Keys younger than `min_age_ns` are neither found nor stored, see is_settled(). With an empty
  // `path` the cache remembers nothing. Reads the file, and throws no Error if it cannot.
  HashCache(std::string path, int64_t min_age_ns);

  std::optional<std::string> find(const FileKey& key) const;
  // The file must have had this key, and is_settled() must have been true of it, before its content
  // was hashed. The file must still have had this key afterwards. Stores nothing if the key is
  // younger than `min_age_ns`.
  void store(const FileKey& key, const std::string& sha256);
  // Writes the file if something was stored. Never throws, because without the cache the next run
  // is slower, but not wrong.
  void save() const noexcept;

 private:
  std::string path_;
  int64_t min_age_ns_;
  bool changed_ = false;
  std::map<FileKey, std::string> hashes_;
};

}  // namespace encode
