#include "hub/cache_repository.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "encode/error.h"

#include "base/path_kind.h"
#include "base/system_call.h"
#include "model_dir/hub_cache.h"

namespace encode::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPublishLock = "encode";  // no blob has this name

void rename_durably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw system_error(kCacheCode, "give a file of the cache its name", to, errno);
  sync_directory(parent_directory(to));
}

void remove_if_there(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && !means_absent(errno))
    throw system_error(kCacheCode, "remove a file of the cache", path, errno);
}

// Returns the target of a link, or "" for anything else.
std::string link_target(const std::string& path) {
  std::error_code failure;
  const fs::path target = fs::read_symlink(path, failure);
  return failure ? "" : target.string();
}

void write_synced(const std::string& path, const std::string& content) {
  const UniqueFd fd(retried([&] {
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  }));
  if (!fd) throw system_error(kCacheCode, "create a file of the cache", path, errno);
  write_all(fd, content.data(), content.size(), path);
  if (retried([&] { return ::fsync(fd.get()); }) != 0)
    throw system_error(kCacheCode, "sync a file of the cache", path, errno);
}

constexpr mode_t kGroupMayLock = 0664;  // as in huggingface_hub, for users who share a cache

UniqueFd open_lock(const std::string& path) {
  UniqueFd fd(retried([&] {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kGroupMayLock);
  }));
  if (!fd) throw system_error(kCacheCode, "open a lock", path, errno);
  return fd;
}

// Returns false if another process holds the lock.
bool try_lock(const UniqueFd& fd, const std::string& path) {
  if (retried([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  throw system_error(kCacheCode, "lock a file of the cache (HF_HUB_CACHE may name another disk)",
                     path, errno);
}

}  // namespace

FileLock::FileLock(const std::string& path, PullObserver& observer) {
  constexpr std::chrono::milliseconds kStep{100};
  constexpr int kStepsPerNote = 100;
  create_directories_durably(parent_directory(path));
  for (int step = 0;; ++step) {
    fd_ = open_lock(path);
    if (try_lock(fd_, path)) {
      // Some versions of filelock delete the file of a lock.
      if (is_still_named(fd_, path, kCacheCode)) return;
      continue;
    }
    if (step % kStepsPerNote == 0)
      observer.note(
          fmt::format("waiting for another program that downloads the same file ({})", path));
    std::this_thread::sleep_for(kStep);
  }
}

CacheRepository::CacheRepository(const std::string& cache, const std::string& model,
                                 PullObserver& observer)
    : root_(cache + "/" + hub_repository_folder(model)),
      locks_(cache + "/.locks/" + hub_repository_folder(model)),
      observer_(observer) {
  for (const char* folder : {"blobs", "refs", "snapshots"})
    create_directories_durably(root_ + "/" + folder);
}

std::string CacheRepository::snapshot(const std::string& commit) const {
  return root_ + "/snapshots/" + commit;
}

void CacheRepository::create_snapshot(const std::string& commit) const {
  create_directories_durably(snapshot(commit));
}

void CacheRepository::remove_broken_links(const std::string& commit) const {
  std::error_code failure;
  fs::recursive_directory_iterator entry(snapshot(commit), failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    const std::string path = entry->path().string();
    if (!link_target(path).empty() && !path_exists(path, kCacheCode)) remove_if_there(path);
  }
  if (failure) throw system_error(kCacheCode, "list a folder of the cache", root_, failure.value());
}

std::string CacheRepository::blob(const std::string& etag) const {
  return root_ + "/blobs/" + etag;
}

std::string CacheRepository::incomplete(const std::string& etag) const {
  return blob(etag) + ".incomplete";
}

bool CacheRepository::has_blob(const std::string& etag, int64_t bytes) const {
  struct stat info = {};
  if (::stat(blob(etag).c_str(), &info) == 0) return S_ISREG(info.st_mode) && info.st_size == bytes;
  if (means_absent(errno)) return false;
  throw system_error(kCacheCode, "look at a file of the cache", blob(etag), errno);
}

FileLock CacheRepository::lock(const std::string& name) const {
  return {locks_ + "/" + name + ".lock", observer_};
}

FileLock CacheRepository::lock_blob(const std::string& etag) const { return lock(etag); }

void CacheRepository::publish_blob(const std::string& etag) const {
  rename_durably(incomplete(etag), blob(etag));
}

// Returns the temporary path of a file. It is outside of the folders that Python tools list, and
// the lock kPublishLock guards it.
std::string CacheRepository::beside(const std::string& kind) const {
  return root_ + "/.encode." + kind;
}

void CacheRepository::link(const std::string& commit, const std::string& path,
                           const std::string& etag) const {
  const auto depth = std::count(path.begin(), path.end(), '/');
  std::string target = "../../";
  for (int64_t i = 0; i < depth; ++i) target += "../";
  target += "blobs/" + etag;
  const std::string place = snapshot(commit) + "/" + path;
  if (link_target(place) == target) return;
  create_directories_durably(parent_directory(place));
  const FileLock guard = lock(kPublishLock);
  const std::string fresh = beside("link");
  remove_if_there(fresh);
  if (::symlink(target.c_str(), fresh.c_str()) != 0)
    throw system_error(kCacheCode, "create a link in the cache", place, errno);
  rename_durably(fresh, place);
}

void CacheRepository::write_ref(const std::string& revision, const std::string& commit) const {
  if (revision == commit) return;
  const std::string place = root_ + "/refs/" + revision;
  create_directories_durably(parent_directory(place));
  const FileLock guard = lock(kPublishLock);
  constexpr int64_t kMostBytes = 4096;  // a commit has 40; other programs may write more
  if (path_kind(place, kCacheCode) == PathKind::kFile &&
      read_file(place, kMostBytes, kCacheCode) == commit)
    return;
  const std::string fresh = beside("ref");
  write_synced(fresh, commit);  // without a line feed, as huggingface_hub reads it
  rename_durably(fresh, place);
}

}  // namespace encode::hub
