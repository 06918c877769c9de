#include "model_dir/hash_cache.h"

#include <exception>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/json.h"
#include "model_dir/file_key.h"

namespace encode {
namespace {

constexpr int64_t kVersion = 1;
constexpr JsonLimits kLimits = {.max_bytes = 4 << 20, .max_depth = 4};
constexpr size_t kMaxEntries = 10'000;  // about 2 MB; a full cache is emptied

std::map<FileKey, std::string> read_entries(const std::string& path) {
  std::map<FileKey, std::string> hashes;
  const Json json = read_json_file(path, kLimits, "model.hash_cache");
  const JsonFields fields(json, path, "model.hash_cache");
  if (fields.integer("version", 0, INT64_MAX) != kVersion) return hashes;
  for (const Json& entry : fields.array("entries")) {
    const JsonFields e(entry, path, "model.hash_cache");
    const FileKey key = {.device = e.integer("dev", INT64_MIN, INT64_MAX),
                         .inode = e.integer("ino", INT64_MIN, INT64_MAX),
                         .size = e.integer("size", 0, INT64_MAX),
                         .mtime_ns = e.integer("mtime_ns", INT64_MIN, INT64_MAX),
                         .ctime_ns = e.integer("ctime_ns", INT64_MIN, INT64_MAX)};
    const std::string sha256 = e.string("sha256");
    if (sha256.size() == 64) hashes[key] = sha256;
  }
  return hashes;
}

}  // namespace

HashCache::HashCache(std::string path, int64_t min_age_ns)
    : path_(std::move(path)), min_age_ns_(min_age_ns) {
  if (path_.empty()) return;
  try {
    hashes_ = read_entries(path_);
  } catch (const Error&) {
    hashes_.clear();  // a missing or damaged file is an empty cache; save() replaces it
  }
}

std::optional<std::string> HashCache::find(const FileKey& key) const {
  const auto found = hashes_.find(key);
  if (found == hashes_.end() || !is_settled(key, min_age_ns_)) return std::nullopt;
  return found->second;
}

void HashCache::store(const FileKey& key, const std::string& sha256) {
  if (path_.empty() || !is_settled(key, min_age_ns_)) return;
  if (hashes_.size() >= kMaxEntries) hashes_.clear();
  // Removes the older states of the same file, because no lookup can match them again.
  std::erase_if(hashes_, [&key](const auto& e) {
    return e.first.device == key.device && e.first.inode == key.inode;
  });
  hashes_[key] = sha256;
  changed_ = true;
}

void HashCache::save() const noexcept {
  if (!changed_) return;
  try {
    Json entries = Json::array();
    for (const auto& [key, sha256] : hashes_) {
      entries.push_back({{"dev", key.device},
                         {"ino", key.inode},
                         {"size", key.size},
                         {"mtime_ns", key.mtime_ns},
                         {"ctime_ns", key.ctime_ns},
                         {"sha256", sha256}});
    }
    write_file_durably(path_, Json{{"version", kVersion}, {"entries", std::move(entries)}}.dump());
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): without the
                                     // cache the next run is slower, but not wrong
  }
}

}  // namespace encode
