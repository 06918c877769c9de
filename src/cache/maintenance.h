// The functions of `encode cache`, for an embedding cache on disk. One thread at a time may call
// them.
#pragma once

#include <cstdint>
#include <string>

#include "cache/store_watch.h"

namespace encode {

// All functions throw Error kNoInput "cache.missing" if there is no cache in the directory, and the
// errors of check_folder(), hold_folder() and LmdbStore. A store that is badly damaged may end the
// process by a signal: call them in run_isolated(). `stalled`: see StoreWatch.

struct CacheContent {
  int64_t rows = 0;
  int64_t blocks = 0;
  int64_t live_bytes = 0;  // the size of all pages in use
  int64_t file_bytes = 0;  // the size of the file on disk; what exceeds live_bytes can be reused
  int64_t oldest_use = 0;  // the earliest last use of a block, in seconds since 1970; 0: none
  int64_t newest_use = 0;
};
// Reads the sizes. Runs may use the cache meanwhile.
CacheContent read_cache_content(const std::string& dir, StoreStalled stalled = end_stalled_process);

struct CacheAudit {
  int64_t records = 0;          // the records in all blocks
  int64_t damaged_records = 0;  // records with a wrong checksum or size
  int64_t damaged_blocks = 0;   // blocks that do not consist of records
  int64_t rows = 0;             // the entries of the index
  int64_t lost_rows = 0;        // index entries without a good record of their key
  bool damaged() const { return damaged_records + damaged_blocks + lost_rows > 0; }
};
// Computes every checksum again. Runs may use the cache meanwhile; rows that they add or delete may
// or may not be counted.
CacheAudit audit_cache(const std::string& dir, StoreStalled stalled = end_stalled_process);

struct PruneResult {
  int64_t deleted_blocks = 0;
  int64_t rows = 0;        // the rows that are left
  int64_t file_bytes = 0;  // the size of the new file
};
// Deletes the least recently used blocks until the file takes at most `bytes`. Throws Error
// kTempFail "cache.in_use" if a run uses the cache.
PruneResult prune_cache(const std::string& dir, int64_t bytes,
                        StoreStalled stalled = end_stalled_process);

// Deletes all rows, and only files of the cache. The folder stays an empty cache. Returns the
// number of bytes that were freed. Throws Error kTempFail "cache.in_use" if a run uses the cache.
// The store may be damaged.
int64_t clear_cache(const std::string& dir);

}  // namespace encode
