// The tier of the embedding cache on disk (L3), which several runs and processes share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "cache/cache_record.h"
#include "cache/lmdb_store.h"

namespace encode {

// The size of a block on disk. Rows that are written together share a block. A block has a time of
// last use and is evicted as a whole. With a time for each row, the table of times would be large.
inline constexpr size_t kBlockBytes = size_t{256} << 10;

// The file never grows beyond the limit: the least recently used blocks are evicted. find() and
// add() may be called at the same time, each by one thread.
class DiskTier {
 public:
  // Makes the folder if it is missing. The limit is at least kLeastDiskBytes. Throws the errors of
  // prepare_folder() and LmdbStore. `stalled`: see StoreWatch.
  DiskTier(const std::string& dir, int64_t limit_bytes, StoreStalled stalled = end_stalled_process);

  enum class Outcome { kMissing, kFound, kDamaged };
  // Looks for each key. Calls `found` with the index of the key and its row; the row is valid
  // during the call. The outcome is kDamaged for a damaged record, and for an index entry that
  // leads to no record. Throws the errors of LmdbStore::Reading.
  std::vector<Outcome> find(std::span<const EmbeddingKey> keys,
                            const std::function<void(size_t, const StoredRow&)>& found);

  // Adds blocks of records and makes them durable. A new row replaces the row with the same key. If
  // there is no room for a block even after the eviction of others, leaves it out. Throws the
  // errors of LmdbStore::Writing.
  void add(std::span<const std::span<const std::byte>> blocks);
  // Writes the time of last use of the blocks that find() has used. Throws the errors of
  // LmdbStore::Writing.
  void write_uses();

  int64_t file_bytes() const { return store_.file_bytes(); }

 private:
  bool try_add(std::span<const std::span<const std::byte>> blocks);

  const int64_t limit_bytes_;
  const CacheFolder folder_;
  const UniqueFd hold_;
  LmdbStore store_;
  std::mutex mutex_;
  std::unordered_set<uint64_t> used_;  // guarded by mutex_
};

// Deletes the least recently used blocks until all pages in use take at most `bytes`, or until the
// store has no room for a change. Returns the number of deleted blocks. Throws the errors of
// LmdbStore.
int64_t evict_blocks(LmdbStore& store, int64_t bytes);

}  // namespace encode
