#include "cache/disk_tier.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "encode/cache_limits.h"

namespace encode {
namespace {

// LMDB writes a change to new pages before it frees the old ones. So the content may take at most
// 7/8 of the file.
constexpr int64_t kContentParts = 8;
// A change writes at most this part of the limit and at most kMostChangeBytes, but always at least
// one block.
constexpr int64_t kChangeParts = 16;
constexpr int64_t kMostChangeBytes = 64 << 20;
// Pages that a change frees can be used only two changes later. So an eviction frees more than is
// needed now: this part of the limit at a time.
constexpr int64_t kEvictionParts = 16;
constexpr int kAttempts = 3;
// The time of the last use of a block is written again only if the time on disk is older than this.
constexpr int64_t kUseSeconds = 60;

int64_t now_seconds() { return static_cast<int64_t>(std::time(nullptr)); }

CacheFolder prepared(const std::string& dir) {
  CacheFolder folder{.path = dir};
  prepare_folder(folder);
  return folder;
}

int64_t content_bytes(int64_t limit_bytes) { return limit_bytes - limit_bytes / kContentParts; }

// Returns the row at a place, or nullopt if its record is damaged or missing.
std::optional<StoredRow> row_at(const LmdbStore::Reading& reading, const EmbeddingKey& key,
                                const RecordPlace& place) {
  const auto block = reading.block(place.block);
  if (!block || place.offset > block->size() || place.bytes > block->size() - place.offset)
    return std::nullopt;
  const std::optional<StoredRow> row = read_record(block->subspan(place.offset, place.bytes));
  return row && row->key == key ? row : std::nullopt;
}

// Returns the blocks, the least recently used one first.
std::vector<std::pair<int64_t, uint64_t>> blocks_by_use(LmdbStore& store) {
  const LmdbStore::Reading reading(store, LmdbStore::Reading::Check::kUses);
  std::vector<std::pair<int64_t, uint64_t>> blocks;
  auto use = reading.next_use(0);
  while (use) {
    blocks.emplace_back(use->second, use->first);
    use = reading.next_use(use->first + 1);
  }
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

bool is_old_use(const LmdbStore::Reading& reading, uint64_t block, int64_t now) {
  const auto use = reading.next_use(block);
  return use && use->first == block && use->second + kUseSeconds <= now;
}

// Returns the most bytes that a change writes to add the block. A key lies anywhere in the index,
// so each row costs a page of the index.
int64_t cost_of(std::span<const std::byte> block, int64_t page_bytes) {
  int64_t cost = std::ssize(block);
  visit_records(
      block, [&](size_t /*offset*/, std::span<const std::byte> /*record*/) { cost += page_bytes; });
  return cost;
}

// Returns the number of rows that were deleted.
int64_t remove_block(uint64_t block, LmdbStore::Writing& writing) {
  std::vector<EmbeddingKey> keys;
  if (const auto records = writing.block(block)) {
    visit_records(*records, [&](size_t /*offset*/, std::span<const std::byte> record) {
      keys.push_back(key_of(record));
    });
  }
  for (const EmbeddingKey& key : keys) {
    const auto place = writing.reading().place(key);
    if (place && place->block == block) writing.remove_place(key);
  }
  writing.remove_block(block);
  return std::ssize(keys);
}

}  // namespace

int64_t evict_blocks(LmdbStore& store, int64_t bytes) {
  const auto blocks = blocks_by_use(store);
  int64_t deleted = 0;
  try {
    while (deleted < std::ssize(blocks)) {
      LmdbStore::Writing writing(store);
      const int64_t live = writing.reading().live_bytes();
      if (live <= bytes) break;
      int64_t cost = 0;
      int64_t next = deleted;
      const int64_t most = std::min(kMostChangeBytes, live / (2 * kChangeParts));
      while (next < std::ssize(blocks) && cost <= most && writing.reading().live_bytes() > bytes)
        cost +=
            store.page_bytes() * remove_block(blocks[static_cast<size_t>(next++)].second, writing);
      writing.commit();
      deleted = next;
    }
  } catch (const StoreFull&) {
    return deleted;  // there is no room even for the change that would delete a block
  }
  return deleted;
}

DiskTier::DiskTier(const std::string& dir, int64_t limit_bytes, StoreStalled stalled)
    : limit_bytes_(std::max(limit_bytes, kLeastDiskBytes)),
      folder_(prepared(dir)),
      hold_(hold_folder(folder_, FolderUse::kShared)),
      store_(folder_, limit_bytes_, LmdbStore::Access::kWrite, std::move(stalled)) {}

std::vector<DiskTier::Outcome> DiskTier::find(
    std::span<const EmbeddingKey> keys,
    const std::function<void(size_t, const StoredRow&)>& found) {
  std::vector<Outcome> outcomes(keys.size(), Outcome::kMissing);
  std::vector<uint64_t> used;
  {
    const LmdbStore::Reading reading(store_);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto place = reading.place(keys[i]);
      if (!place) continue;
      const auto row = row_at(reading, keys[i], *place);
      outcomes[i] = row ? Outcome::kFound : Outcome::kDamaged;
      if (!row) continue;
      found(i, *row);
      used.push_back(place->block);
    }
  }
  const std::lock_guard lock(mutex_);
  used_.insert(used.begin(), used.end());
  return outcomes;
}

void DiskTier::add(std::span<const std::span<const std::byte>> blocks) {
  const int64_t most = std::min(kMostChangeBytes, limit_bytes_ / kChangeParts);
  const int64_t page_bytes = store_.page_bytes();
  while (!blocks.empty()) {
    size_t count = 0;
    int64_t bytes = 0;
    do {
      bytes += cost_of(blocks[count++], page_bytes);
    } while (count < blocks.size() && bytes + cost_of(blocks[count], page_bytes) <= most);
    for (int attempt = 1; attempt <= kAttempts && !try_add(blocks.first(count)); ++attempt)
      evict_blocks(store_, content_bytes(limit_bytes_) - attempt * (limit_bytes_ / kEvictionParts));
    blocks = blocks.subspan(count);
  }
}

// Returns false if the store has no room.
bool DiskTier::try_add(std::span<const std::span<const std::byte>> blocks) {
  try {
    LmdbStore::Writing writing(store_);
    if (writing.reading().live_bytes() > content_bytes(limit_bytes_)) return false;
    for (const std::span<const std::byte> block : blocks) {
      const uint64_t number = writing.add_block(block);
      visit_records(block, [&](size_t offset, std::span<const std::byte> record) {
        writing.set_place(key_of(record), {.block = number,
                                           .offset = static_cast<uint32_t>(offset),
                                           .bytes = static_cast<uint32_t>(record.size())});
      });
      writing.set_use(number, now_seconds());
    }
    writing.commit();
    return true;
  } catch (const StoreFull&) {
    return false;
  }
}

void DiskTier::write_uses() {
  std::unordered_set<uint64_t> used;
  {
    const std::lock_guard lock(mutex_);
    used.swap(used_);
  }
  const int64_t now = now_seconds();
  {
    // A Reading does not wait for writers, so a run that has no times to write does not wait here.
    const LmdbStore::Reading reading(store_);
    std::erase_if(used, [&](uint64_t block) { return !is_old_use(reading, block, now); });
  }
  if (used.empty()) return;
  try {
    LmdbStore::Writing writing(store_);
    for (const uint64_t block : used) {
      if (is_old_use(writing.reading(), block, now)) writing.set_use(block, now);
    }
    writing.commit();
  } catch (const StoreFull&) {
    return;  // a lost time of use only makes the order of eviction less exact
  }
}

}  // namespace encode
