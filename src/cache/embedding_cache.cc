#include "cache/embedding_cache.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace encode {
namespace {

constexpr int64_t kRowsShare = 4;  // L1 gets a quarter of the memory, L2 the rest
constexpr int64_t kMostCompactBlockBytes = 1 << 20;
constexpr int64_t kCompactBlocks = 16;  // L2 has at least this number of blocks

RecordTier unwritten_rows() { return {std::numeric_limits<int64_t>::max(), kBlockBytes}; }

size_t compact_block_bytes(int64_t memory_bytes) {
  return static_cast<size_t>(
      std::clamp<int64_t>(memory_bytes / kCompactBlocks, 1, kMostCompactBlockBytes));
}

// Copies the row into the request. Returns false if the row has another number of values than the
// request.
bool take(const CachedRow& row, CacheRequest& request) {
  if (row.values.size() != request.values.size()) return false;
  std::copy(row.values.begin(), row.values.end(), request.values.begin());
  request.redone = row.redone;
  request.found = true;
  return true;
}

// Does the same with a record.
bool take(const StoredRow& row, CacheRequest& request) {
  if (row.values != request.values.size()) return false;
  row.copy_to(request.values);
  request.redone = row.redone;
  request.found = true;
  return true;
}

}  // namespace

EmbeddingCache::EmbeddingCache(const EmbeddingCacheOptions& options, StoreStalled stalled)
    : memory_bytes_(options.memory_bytes),
      compact_(0, compact_block_bytes(options.memory_bytes)),
      rows_(0, [this](const CachedRow& row) { compact_.put(row); }),
      unwritten_(unwritten_rows()),
      disk_(options.dir, options.disk_bytes, std::move(stalled)) {
  set_limits(memory_bytes_);
}

void EmbeddingCache::set_limits(int64_t bytes) {
  compact_.set_limit(bytes - bytes / kRowsShare);
  rows_.set_limit(bytes / kRowsShare);
}

void EmbeddingCache::find(std::span<CacheRequest> requests) {
  std::vector<size_t> missing;
  {
    const std::lock_guard lock(mutex_);
    counts_.requests += std::ssize(requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      if (!find_in_memory(requests[i])) missing.push_back(i);
    }
  }
  if (!missing.empty()) find_on_disk(requests, missing);
}

bool EmbeddingCache::find_in_memory(CacheRequest& request) {
  if (const auto row = rows_.find(request.key)) {
    if (!take(*row, request)) return false;
    ++counts_.row_hits;
    return true;
  }
  auto record = compact_.find(request.key);
  if (!record) record = unwritten_.find(request.key);
  if (!record && writing_) record = writing_->find(request.key);
  if (!record) return false;
  // The checksum also finds a bit that has flipped in memory.
  const auto row = read_record(*record);
  if (!row || row->key != request.key || !take(*row, request)) return false;
  ++counts_.compact_hits;
  rows_.put({.key = request.key, .values = request.values, .redone = request.redone});
  return true;
}

void EmbeddingCache::find_on_disk(std::span<CacheRequest> requests,
                                  std::span<const size_t> missing) {
  std::vector<EmbeddingKey> keys;
  keys.reserve(missing.size());
  for (const size_t i : missing) keys.push_back(requests[i].key);
  const std::vector<DiskTier::Outcome> outcomes =
      disk_.find(keys, [&](size_t n, const StoredRow& row) { take(row, requests[missing[n]]); });
  const std::lock_guard lock(mutex_);
  for (size_t n = 0; n < missing.size(); ++n) {
    const CacheRequest& request = requests[missing[n]];
    if (request.found) {
      ++counts_.disk_hits;
      rows_.put({.key = request.key, .values = request.values, .redone = request.redone});
    } else if (outcomes[n] != DiskTier::Outcome::kMissing) {
      ++counts_.damaged_rows;
    }
  }
}

void EmbeddingCache::put(const CachedRow& row) {
  const std::lock_guard lock(mutex_);
  rows_.put(row);
  unwritten_.put(row);
  ++counts_.stored_rows;
}

int64_t EmbeddingCache::unwritten_bytes() const {
  const std::lock_guard lock(mutex_);
  return unwritten_.bytes();
}

void EmbeddingCache::write() {
  std::vector<std::span<const std::byte>> blocks;
  {
    const std::lock_guard lock(mutex_);
    writing_.emplace(std::exchange(unwritten_, unwritten_rows()));
    blocks = writing_->blocks();
  }
  const auto done = [this] {
    const std::lock_guard lock(mutex_);
    writing_.reset();
  };
  try {
    disk_.add(blocks);
    disk_.write_uses();
  } catch (...) {
    done();
    throw;
  }
  done();
}

CacheCounts EmbeddingCache::take_counts() {
  const int64_t disk_bytes = disk_.file_bytes();
  const std::lock_guard lock(mutex_);
  CacheCounts counts = std::exchange(counts_, CacheCounts());
  counts.row_bytes = rows_.bytes();
  counts.compact_bytes = compact_.bytes();
  counts.disk_bytes = disk_bytes;
  return counts;
}

int64_t EmbeddingCache::shrink_to(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  set_limits(std::clamp<int64_t>(bytes, 0, memory_bytes_));
  return rows_.bytes() + compact_.bytes();
}

}  // namespace encode
