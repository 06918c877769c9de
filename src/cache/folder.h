// The folder of the embedding cache on disk: how it is recognised, and the lock of the processes
// that use it. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <string>

#include "encode/error.h"

#include "base/file.h"

namespace encode {

// The folder has these files and no others:
// - the marker, JSON {"encode":"embedding cache","format":1}, which is made first,
// - an empty file that processes lock while they use the folder,
// - the files of LMDB.
struct CacheFolder {
  static constexpr int64_t kFormat = 1;  // must be increased if the files change their form

  std::string path;
  std::string marker() const { return path + "/embedding_cache.json"; }
  std::string users() const { return path + "/users.lock"; }
  std::string data() const { return path + "/data.mdb"; }
  std::string locks() const { return path + "/lock.mdb"; }
  std::string compacted() const { return path + "/compact.mdb"; }  // exists while prune works
};

// Makes the folder and its marker if they are missing. Throws Error:
// - kCantCreate "cache.foreign" if the folder has files that are not of an embedding cache,
// - kConfig "cache.version" if another version of encode made it,
// - kConfig "cache.network" if the folder is on a network file system, where LMDB is not safe,
// - what the functions of base/file.h throw.
void prepare_folder(const CacheFolder& folder);

// Throws Error kNoInput "cache.missing" if there is no such folder or no marker in it, and what
// prepare_folder() throws.
void check_folder(const CacheFolder& folder);

// Makes the Error kData "cache.damaged" for the store in the folder.
Error damaged_store(const CacheFolder& folder, std::string found);

enum class FolderUse { kShared, kExclusive };
// Locks the folder until the result is destroyed. Any number of processes may hold it with kShared,
// or one with kExclusive. Throws Error kTempFail "cache.in_use" if the lock of another process does
// not allow it: for kExclusive at once, for kShared after a wait of two seconds.
UniqueFd hold_folder(const CacheFolder& folder, FolderUse use);

}  // namespace encode
