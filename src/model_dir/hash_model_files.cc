#include <fmt/format.h>
#include <string>
#include <vector>

#include "encode/error.h"
#include "encode/model_directory.h"

#include "base/file.h"
#include "base/hash.h"
#include "model_dir/file_key.h"
#include "model_dir/hash_cache.h"
#include "model_dir/model_folder.h"

namespace encode {
namespace {

// Opens the file with the checks of ModelFolder again, because the directory may have changed.
UniqueFd reopen(const ModelFolder& root, const std::string& name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string::npos) return root.open_file(name);
  return root.subfolder(name.substr(0, slash)).open_file(name.substr(slash + 1));
}

}  // namespace

std::vector<FileHash> hash_model_files(const ModelDirectory& directory,
                                       const std::string& hash_cache) {
  const ModelFolder root = ModelFolder::open(directory.path, nullptr);
  HashCache cache(hash_cache, kMinAgeNs);
  std::vector<FileHash> hashes;
  for (const ModelFile& file : directory.files) {
    const UniqueFd fd = reopen(root, file.name);
    const FileKey key = key_of(fd, file.path);
    if (key.size != file.bytes) {
      throw Error({.code = "model.changed",
                   .what = "a file of the model changed while it was read",
                   .where = file.path,
                   .expected = fmt::format("{} bytes", file.bytes),
                   .found = fmt::format("{} bytes", key.size),
                   .hint = "wait until the model's download or copy has finished"});
    }
    FileHash& hash = hashes.emplace_back();
    hash = {.name = file.name, .bytes = key.size, .sha256 = cache.find(key).value_or("")};
    if (!hash.sha256.empty()) {
      hash.settled_key = key;
      continue;
    }
    const bool settled = is_settled(key, kMinAgeNs);
    hash.sha256 = sha256_of(fd, file.path);
    if (!settled || key_of(fd, file.path) != key) continue;
    hash.settled_key = key;
    cache.store(key, hash.sha256);
  }
  cache.save();
  return hashes;
}

}  // namespace encode
