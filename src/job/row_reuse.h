// Gives rows the vectors of equal rows, from the embedding cache or from the same window. Any
// thread may call the functions. They throw no Error.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "batching/duplicates.h"
#include "cache/embedding_key.h"
#include "job/cache_session.h"
#include "job/packed_rows.h"

namespace encode {

// The number of the rows that got their vectors without a batch, and of their tokens.
struct ReusedRows {
  int64_t rows = 0;
  int64_t tokens = 0;

  bool operator==(const ReusedRows&) const = default;
};

// The rows of a window that the embedding cache has. Rows are numbered as in PackedRow.
struct CacheHits {
  std::set<int64_t> rows;
  std::set<int64_t> redone;  // the subset of `rows` with CachedRow::redone
  int64_t tokens = 0;        // the number of tokens of `rows`
};

// The embedding cache for the rows of one window. No function throws Error. Not thread-safe.
class WindowCache {
 public:
  // `keys` is [rows of the window], and has the keys of the rows that are in a batch. If it is
  // empty, the functions do nothing. Both arguments must outlive the object.
  WindowCache(CacheSession& cache, std::span<const EmbeddingKey> keys)
      : cache_(cache), keys_(keys) {}

  // Copies the vectors that the cache has into `values`.
  CacheHits find(std::span<const PackedRow> rows, WindowValues& values) const;
  // Adds the vectors of the rows to the cache, in this order. `redone` becomes CachedRow::redone.
  void put(std::span<const PackedRow> rows, const std::set<int64_t>& redone,
           const WindowValues& values) const;

 private:
  bool on() const { return cache_.on() && !keys_.empty(); }

  CacheSession& cache_;
  std::span<const EmbeddingKey> keys_;
};

// Copies the vectors of each DuplicateRow::first to the duplicate, unless the first row is in
// `failed`. Returns the numbers of the rows and tokens that it has copied.
ReusedRows copy_duplicates(std::span<const DuplicateRow> duplicates,
                           std::span<const FailedRow> failed, WindowValues& values);

}  // namespace encode
