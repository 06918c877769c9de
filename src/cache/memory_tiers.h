// The two tiers of the embedding cache in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cache/cache_record.h"
#include "cache/embedding_key.h"

namespace encode {

// The first tier (L1): the most used rows, ready to be copied. If it is full, it evicts rows by the
// CLOCK algorithm (Corbato 1968), which is close to least-recently-used and changes only one bit
// for a hit. Not thread-safe.
class RowTier {
 public:
  using Evicted = std::function<void(const CachedRow&)>;

  // Calls `evicted` with each row that is evicted, before its values are freed.
  RowTier(int64_t limit_bytes, Evicted evicted);

  // The result is valid until the next call of another function.
  std::optional<CachedRow> find(const EmbeddingKey& key);
  // Stores the row in place of one with the same key. A row that is larger than the limit is
  // evicted at once.
  void put(const CachedRow& row);
  // Evicts rows until the tier fits.
  void set_limit(int64_t limit_bytes);

  int64_t bytes() const { return bytes_; }
  int64_t rows() const { return static_cast<int64_t>(slots_.size()); }

 private:
  struct Slot {
    EmbeddingKey key;
    std::vector<float> values;
    bool redone = false;
    bool used = false;
  };
  static int64_t bytes_of(size_t values);
  void evict_one();
  void shrink(int64_t bytes);

  const Evicted evicted_;
  int64_t limit_bytes_;
  int64_t bytes_ = 0;
  std::vector<Slot> slots_;
  size_t hand_ = 0;
  std::unordered_map<EmbeddingKey, size_t, EmbeddingKeyHash> places_;
};

// The second tier (L2): rows as records in blocks of bytes. If it is full, it drops its oldest
// block. The cache has another RecordTier for the rows that must be written to disk, because the
// disk has blocks of the same format. Not thread-safe.
class RecordTier {
 public:
  // A block has `block_bytes`, or more if a record does not fit.
  RecordTier(int64_t limit_bytes, size_t block_bytes);

  // Returns the bytes of the record. They are valid until the next call of another function.
  std::optional<std::span<const std::byte>> find(const EmbeddingKey& key) const;
  // Does nothing if there is a record with this key, or if the record is larger than the limit.
  void put(const CachedRow& row);
  void set_limit(int64_t limit_bytes);

  int64_t bytes() const { return bytes_; }
  int64_t rows() const { return static_cast<int64_t>(places_.size()); }
  // Returns the used bytes of each block, oldest first. They are valid until the next put() or
  // set_limit().
  std::vector<std::span<const std::byte>> blocks() const;

 private:
  struct Place {
    uint64_t block;  // blocks are numbered from 0 in the order in which they were made
    size_t offset;
    size_t bytes;
  };
  void drop_oldest();
  void shrink(int64_t bytes);
  std::vector<std::byte>& block_for(size_t bytes);

  int64_t limit_bytes_;
  size_t block_bytes_;
  int64_t bytes_ = 0;
  uint64_t first_block_ = 0;  // the number of blocks_.front()
  std::deque<std::vector<std::byte>> blocks_;
  std::unordered_map<EmbeddingKey, Place, EmbeddingKeyHash> places_;
};

}  // namespace encode
