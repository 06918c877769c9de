// One model in the cache of huggingface_hub (model_dir/hub_cache.h has the layout). Whatever kills
// the process, the cache stays as Python tools expect it: a blob appears under its name complete
// and synced, a link appears with its target, and a ref is written last.
#pragma once

#include <cstdint>
#include <string>

#include "encode/error_code.h"

#include "base/file.h"
#include "hub/observer.h"

namespace encode::hub {

// The code of an Error about a file of the cache.
inline constexpr ErrorCode kCacheCode = "hub.cache";

// A lock that other programs can see, such as huggingface_hub: flock(2) on a file, as Python's
// filelock has it. The kernel frees the lock if the process dies. The file stays, because another
// process may wait for it.
class FileLock {
 public:
  // Waits until no other process holds the lock, and tells `observer` every ten seconds. `path` is
  // created with its folder. Throws Error "hub.cache" with the exit code of the system error, also
  // if the file system has no locks.
  FileLock(const std::string& path, PullObserver& observer);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() = default;  // closing the descriptor frees the lock

 private:
  UniqueFd fd_;
};

// Nothing is written outside of the cache, because callers have checked each path with
// is_safe_path() and each etag with is_content_hash(). Failed system calls throw Error "hub.cache",
// "io.mkdir" and what FileLock throws. Not thread-safe.
class CacheRepository {
 public:
  // Creates the folders of the model. `observer` must outlive the object.
  CacheRepository(const std::string& cache, const std::string& model, PullObserver& observer);

  std::string snapshot(const std::string& commit) const;  // the folder; it may not exist
  void create_snapshot(const std::string& commit) const;
  // Removes links of a snapshot whose blobs somebody has deleted.
  void remove_broken_links(const std::string& commit) const;

  std::string blob(const std::string& etag) const;        // the path; it may not exist
  std::string incomplete(const std::string& etag) const;  // where the blob grows
  bool has_blob(const std::string& etag, int64_t bytes) const;
  FileLock lock_blob(const std::string& etag) const;  // must be held while the blob is written
  // Renames incomplete(), which must be complete and synced, to the blob.
  void publish_blob(const std::string& etag) const;

  // Makes <snapshot>/<path> a link to the blob, in place of what is there.
  void link(const std::string& commit, const std::string& path, const std::string& etag) const;
  // Writes the commit to refs/<revision>. Does nothing if the revision is the commit itself.
  void write_ref(const std::string& revision, const std::string& commit) const;

 private:
  FileLock lock(const std::string& name) const;
  std::string beside(const std::string& kind) const;

  const std::string root_;   // <cache>/models--org--name
  const std::string locks_;  // <cache>/.locks/models--org--name
  PullObserver& observer_;
};

}  // namespace encode::hub
