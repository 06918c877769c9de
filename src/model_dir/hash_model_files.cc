#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "encode/model_directory.h"

#include "base/file.h"
#include "base/hash.h"
#include "model_dir/hash_cache.h"
#include "model_dir/model_folder.h"
#include "model_dir/refusal.h"

namespace encode {
namespace {

constexpr size_t kReadBytes = size_t{4} << 20;

FileKey key_of(const UniqueFd& fd, const std::string& path) {
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) throw system_error("io.stat", "stat", path, errno);
  return file_key(info);
}

std::string sha256_of(const UniqueFd& fd, int64_t size, const std::string& path) {
  Sha256 hash;
  std::vector<char> buffer(static_cast<size_t>(std::min(size, static_cast<int64_t>(kReadBytes))));
  for (int64_t offset = 0; offset < size;) {
    const size_t n = std::min(buffer.size(), static_cast<size_t>(size - offset));
    pread_all(fd, {buffer.data(), n}, offset, path);
    hash.update(buffer.data(), n);
    offset += static_cast<int64_t>(n);
  }
  return hash.hex();
}

// Opens the file with the checks of ModelFolder again, because the directory may have changed.
UniqueFd reopen(const ModelFolder& root, const std::string& name) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return root.open_file(name);
  return root.subfolder(name.substr(0, slash)).open_file(name.substr(slash + 1));
}

}  // namespace

std::vector<FileHash> hash_model_files(const ModelDirectory& directory,
                                       const std::string& hash_cache) {
  const ModelFolder root = ModelFolder::open(directory.path);
  HashCache cache(hash_cache, HashCache::kMinAgeNs);
  std::vector<FileHash> hashes;
  for (const ModelFile& file : directory.files) {
    const UniqueFd fd = reopen(root, file.name);
    const FileKey key = key_of(fd, file.path);
    std::optional<std::string> sha256 = cache.find(key);
    if (!sha256) {
      sha256 = sha256_of(fd, key.size, file.path);
      if (key_of(fd, file.path) == key) cache.store(key, *sha256);
    }
    if (key.size != file.bytes || key_of(fd, file.path) != key) {
      throw refusal({.code = "model.changed",
                     .what = "a file of the model changed while it was read",
                     .where = file.path,
                     .expected = fmt::format("{} bytes, not written to", file.bytes),
                     .found = fmt::format("{} bytes", key.size),
                     .hint = "wait until the model's download or copy has finished",
                     .exit_code = ExitCode::kIoError});
    }
    hashes.push_back({.name = file.name, .bytes = file.bytes, .sha256 = *sha256});
  }
  cache.save();
  return hashes;
}

}  // namespace encode
