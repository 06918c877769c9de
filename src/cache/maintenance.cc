#include "cache/maintenance.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "encode/error.h"

#include "base/file.h"
#include "base/path_kind.h"
#include "cache/cache_record.h"
#include "cache/disk_tier.h"
#include "cache/folder.h"
#include "cache/lmdb_store.h"

namespace encode {
namespace {

// While a reader is open, writers cannot reuse freed space, so an audit opens a new one after this
// number of entries.
constexpr int kEntriesOfAReader = 1024;
// The tables and the free list of an empty store, in pages of 4 KiB.
constexpr int64_t kOverheadBytes = 64 << 10;

CacheFolder checked(const std::string& dir) {
  CacheFolder folder{.path = dir};
  check_folder(folder);
  return folder;
}

bool has_store(const CacheFolder& folder) { return path_exists(folder.data(), "cache.store"); }

bool is_good(std::span<const std::byte> record, const EmbeddingKey& key) {
  const auto row = read_record(record);
  return row && row->key == key && row->bytes.size() == record.size();
}

void audit_blocks(LmdbStore& store, CacheAudit& audit) {
  std::optional<uint64_t> next = 0;
  while (next) {
    const LmdbStore::Reading reading(store);
    for (int n = 0; next && n < kEntriesOfAReader; ++n) {
      const auto block = reading.next_block(*next);
      next.reset();
      if (!block) break;
      next = block->first + 1;
      const bool whole =
          visit_records(block->second, [&](size_t /*offset*/, std::span<const std::byte> record) {
            ++audit.records;
            audit.damaged_records += is_good(record, key_of(record)) ? 0 : 1;
          });
      audit.damaged_blocks += whole ? 0 : 1;
    }
  }
}

bool has_record(const LmdbStore::Reading& reading, const EmbeddingKey& key,
                const RecordPlace& place) {
  const auto block = reading.block(place.block);
  return block && place.offset <= block->size() && place.bytes <= block->size() - place.offset &&
         is_good(block->subspan(place.offset, place.bytes), key);
}

void audit_index(LmdbStore& store, CacheAudit& audit) {
  std::optional<EmbeddingKey> last;
  bool more = true;
  while (more) {
    const LmdbStore::Reading reading(store);
    for (int n = 0; more && n < kEntriesOfAReader; ++n) {
      const auto entry = reading.next_place(last);
      more = entry.has_value();
      if (!more) break;
      last = entry->first;
      ++audit.rows;
      audit.lost_rows += has_record(reading, entry->first, entry->second) ? 0 : 1;
    }
  }
}

void check_all_pages(LmdbStore& store) {
  const LmdbStore::Reading reading(store, LmdbStore::Reading::Check::kAll);
}

void remove_store(const CacheFolder& folder) {
  for (const std::string& path : {folder.compacted(), folder.data(), folder.locks()})
    remove_file(path);
  sync_directory(folder.path);
}

}  // namespace

CacheContent read_cache_content(const std::string& dir, StoreStalled stalled) {
  const CacheFolder folder = checked(dir);
  if (!has_store(folder)) return {};
  const UniqueFd hold = hold_folder(folder, FolderUse::kShared);
  LmdbStore store(folder, 0, LmdbStore::Access::kRead, std::move(stalled));
  const LmdbStore::Reading reading(store, LmdbStore::Reading::Check::kUses);
  CacheContent content = {.rows = reading.rows(),
                          .blocks = reading.blocks(),
                          .live_bytes = reading.live_bytes(),
                          .file_bytes = store.file_bytes()};
  for (auto use = reading.next_use(0); use; use = reading.next_use(use->first + 1)) {
    const int64_t time = use->second;
    content.oldest_use = content.oldest_use == 0 ? time : std::min(content.oldest_use, time);
    content.newest_use = std::max(content.newest_use, time);
  }
  return content;
}

CacheAudit audit_cache(const std::string& dir, StoreStalled stalled) {
  const CacheFolder folder = checked(dir);
  CacheAudit audit;
  if (!has_store(folder)) return audit;
  const UniqueFd hold = hold_folder(folder, FolderUse::kShared);
  LmdbStore store(folder, 0, LmdbStore::Access::kRead, std::move(stalled));
  check_all_pages(store);
  audit_blocks(store, audit);
  audit_index(store, audit);
  return audit;
}

PruneResult prune_cache(const std::string& dir, int64_t bytes, StoreStalled stalled) {
  const CacheFolder folder = checked(dir);
  const UniqueFd alone = hold_folder(folder, FolderUse::kExclusive);
  PruneResult result;
  if (!has_store(folder)) return result;
  {
    LmdbStore store(folder, 0, LmdbStore::Access::kWrite, std::move(stalled));
    check_all_pages(store);
    result.deleted_blocks = evict_blocks(store, std::max<int64_t>(0, bytes - kOverheadBytes));
    result.rows = LmdbStore::Reading(store).rows();
    store.write_compacted();
  }
  if (std::rename(folder.compacted().c_str(), folder.data().c_str()) != 0)
    throw system_error("cache.store", "replace", folder.data(), errno);
  remove_file(folder.locks());
  sync_directory(folder.path);
  result.file_bytes = file_size(open_for_reading(folder.data(), "cache.store"), folder.data());
  return result;
}

int64_t clear_cache(const std::string& dir) {
  const CacheFolder folder = checked(dir);
  const UniqueFd alone = hold_folder(folder, FolderUse::kExclusive);
  if (!has_store(folder)) return 0;
  const int64_t bytes = file_size(open_for_reading(folder.data(), "cache.store"), folder.data());
  remove_store(folder);
  return bytes;
}

}  // namespace encode
