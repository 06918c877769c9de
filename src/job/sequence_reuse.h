// Gives sequences the vectors of equal sequences, from the embedding cache or from the same window.
// Any thread may call the functions. They throw no Error.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "batching/duplicates.h"
#include "cache/embedding_key.h"
#include "job/cache_session.h"
#include "job/packed_sequences.h"

namespace encode {

// The number of the sequences that got their vectors without a batch, and of their tokens.
struct ReusedSequences {
  int64_t sequences = 0;
  int64_t tokens = 0;

  bool operator==(const ReusedSequences&) const = default;
};

// The sequences of a window that the embedding cache has, by PackedSequence::number.
struct CacheHits {
  std::set<int64_t> sequences;
  std::set<int64_t> redone;  // the subset of `sequences` with CachedRow::redone
  int64_t tokens = 0;        // the number of tokens of `sequences`
};

// The embedding cache for the sequences of one window. No function throws Error. Not thread-safe.
class WindowCache {
 public:
  // `keys` is Window::keys. If it is empty, the functions do nothing. Both arguments must outlive
  // the object.
  WindowCache(CacheSession& cache, std::span<const EmbeddingKey> keys)
      : cache_(cache), keys_(keys) {}

  // Copies the vectors that the cache has into `values`.
  CacheHits find(std::span<const PackedSequence> sequences, WindowValues& values) const;
  // Adds the vectors of the sequences to the cache, in this order. `redone` becomes
  // CachedRow::redone.
  void put(std::span<const PackedSequence> sequences, const std::set<int64_t>& redone,
           const WindowValues& values) const;

 private:
  bool on() const { return cache_.on() && !keys_.empty(); }

  CacheSession& cache_;
  std::span<const EmbeddingKey> keys_;
};

// Copies the vectors of each DuplicateSequence::first to the duplicate, unless the first one is in
// `failed`. Returns the numbers of the duplicates that got vectors, and of their tokens.
ReusedSequences copy_duplicates(std::span<const DuplicateSequence> duplicates,
                                std::span<const FailedSequence> failed, WindowValues& values);

}  // namespace encode
