#include "cache/folder.h"

#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/file.h>
#include <thread>
#include <utility>

#include "encode/error.h"

#include "base/file_system.h"
#include "base/json.h"
#include "base/path_kind.h"
#include "base/system_call.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr const char* kKind = "embedding cache";
constexpr auto kPatience = std::chrono::seconds(2);
constexpr auto kRetryInterval = std::chrono::milliseconds(20);

// LMDB maps its file and shares locks through memory, which only processes of one machine see.
void refuse_network(const CacheFolder& folder) {
  const std::optional<SharedFileSystem> found = shared_file_system(folder.path);
  if (!found || !found->network) return;
  throw Error({.code = "cache.network",
               .what = "the embedding cache is on a network file system",
               .where = folder.path,
               .expected = "a local file system, such as ext4, xfs or tmpfs",
               .found = found->name,
               .hint = "give a directory on a local disk; machines cannot share the cache"});
}

void read_marker(const CacheFolder& folder) {
  const Json json =
      read_json_file(folder.marker(), {.max_bytes = 4096, .max_depth = 4}, "cache.version");
  const JsonFields fields(json, folder.marker(), "cache.version");
  const std::string kind = fields.string("encode");
  if (kind != kKind) fields.refuse("encode", kKind, preview(kind));
  const int64_t format = fields.integer("format", 0, INT32_MAX);
  if (format == CacheFolder::kFormat) return;
  throw Error({.code = "cache.version",
               .what = "another version of encode made the embedding cache",
               .where = folder.marker(),
               .expected = fmt::format("format {}", CacheFolder::kFormat),
               .found = fmt::format("format {}", format),
               .hint = "use another directory, or delete this one"});
}

// Refuses a folder without a marker that has files, unless another process may be creating the
// cache in it right now.
void refuse_foreign(const CacheFolder& folder) {
  const std::string marker = "embedding_cache.json";
  for (const std::string& name : list_directory(folder.path)) {
    if (name == marker || temp_file_target(name) == marker) continue;
    // Looks again, because another process may have created the marker meanwhile.
    if (path_exists(folder.marker(), "cache.store")) return;
    throw Error({.code = "cache.foreign",
                 .what = "the directory for the embedding cache has files of something else",
                 .where = folder.path,
                 .expected = "an empty directory, or an embedding cache with " + marker,
                 .found = fmt::format("'{}' and no {}", preview(name), marker),
                 .hint = "give a directory of its own"});
  }
}

}  // namespace

void prepare_folder(const CacheFolder& folder) {
  create_directories_durably(folder.path);
  refuse_network(folder);
  if (!path_exists(folder.marker(), "cache.store")) {
    refuse_foreign(folder);
    write_file_durably(folder.marker(),
                       Json{{"encode", kKind}, {"format", CacheFolder::kFormat}}.dump() + "\n");
  }
  read_marker(folder);
}

void check_folder(const CacheFolder& folder) {
  if (!path_exists(folder.marker(), "cache.missing")) {
    throw Error({.code = "cache.missing",
                 .what = "there is no embedding cache in this directory",
                 .where = folder.path,
                 .expected = folder.marker(),
                 .found = "no such file",
                 .hint = "give the directory of --embedding-cache (semantic.embedding_cache.dir)"});
  }
  refuse_network(folder);
  read_marker(folder);
}

Error damaged_store(const CacheFolder& folder, std::string found) {
  return Error({.code = "cache.damaged",
                .what = "the store of the embedding cache is damaged",
                .where = folder.data(),
                .expected = "a file of LMDB that is complete",
                .found = std::move(found),
                .hint = "delete the content with: encode cache clear --dir " + folder.path});
}

UniqueFd hold_folder(const CacheFolder& folder, FolderUse use) {
  const std::string path = folder.users();
  UniqueFd fd(retried(
      [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666); }));
  if (!fd) throw system_error("cache.store", "open", path, errno);
  const int operation = (use == FolderUse::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  // A run (kShared) waits, because `encode cache` ends soon. `encode cache` (kExclusive) does not
  // wait, because a run may take days.
  const auto end = std::chrono::steady_clock::now() +
                   (use == FolderUse::kShared ? kPatience : std::chrono::seconds(0));
  while (retried([&] { return ::flock(fd.get(), operation); }) != 0) {
    if (errno != EWOULDBLOCK) throw system_error("cache.store", "lock", path, errno);
    if (std::chrono::steady_clock::now() >= end) {
      throw Error({.code = "cache.in_use",
                   .what = use == FolderUse::kShared
                               ? "`encode cache` is changing the embedding cache"
                               : "runs use the embedding cache, so it cannot be changed now",
                   .where = folder.path,
                   .expected = use == FolderUse::kShared ? "a cache that is not being pruned"
                                                         : "a cache that nobody uses",
                   .found = "a lock of another process on " + path,
                   .hint = "wait until it has ended, then run the same command again"});
    }
    std::this_thread::sleep_for(kRetryInterval);
  }
  return fd;
}

}  // namespace encode
