// The embedding cache: two tiers in memory and one on disk. The key of a vector is a hash of
// everything that decides its bits. docs/embedding-cache.md describes it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "encode/cache_counts.h"
#include "encode/config.h"
#include "encode/shrinkable.h"

#include "cache/disk_tier.h"
#include "cache/embedding_key.h"
#include "cache/memory_tiers.h"

namespace encode {

// A look-up of one row.
struct CacheRequest {
  EmbeddingKey key;
  std::span<float> values;  // gets the values, if the row has values.size() of them
  bool found = false;
  bool redone = false;  // see CachedRow
};

// Any number of threads may call find(), put(), counts() and shrink_to(). One thread at a time may
// call write().
class EmbeddingCache : public Shrinkable {
 public:
  // Opens the cache in EmbeddingCacheOptions::dir, and makes it if there is none. Throws the errors
  // of DiskTier. `stalled`: see StoreWatch.
  explicit EmbeddingCache(const EmbeddingCacheOptions& options,
                          StoreStalled stalled = end_stalled_process);

  // Answers each request: sets `found`, and for a row that is found `values` and `redone`. Throws
  // the errors of DiskTier::find(), possibly after it has answered some requests.
  void find(std::span<CacheRequest> requests);

  // Adds a row. find() finds it from now on. The row is on disk after the next write().
  void put(const CachedRow& row);
  // Returns the bytes of the rows that wait for write(). The limit of the memory tiers does not
  // include them, so the caller must call write() when they are many.
  int64_t unwritten_bytes() const;
  // Writes the waiting rows durably. Throws the errors of DiskTier::add(), and then drops the rows.
  void write();

  // Returns the counts since the last call.
  CacheCounts take_counts();

  // Limits the tiers in memory to `bytes`, or to the configured size if that is less.
  int64_t shrink_to(int64_t bytes) override;

 private:
  bool find_in_memory(CacheRequest& request);
  void find_on_disk(std::span<CacheRequest> requests, std::span<const size_t> missing);
  void set_limits(int64_t bytes);

  const int64_t memory_bytes_;
  mutable std::mutex mutex_;  // guards everything but disk_
  RecordTier compact_;
  RowTier rows_;
  RecordTier unwritten_;
  std::optional<RecordTier> writing_;  // the rows that write() is writing
  CacheCounts counts_;
  DiskTier disk_;
};

}  // namespace encode
