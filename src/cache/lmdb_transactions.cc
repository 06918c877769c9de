// The transactions of LmdbStore: Reading and Writing.
#include <algorithm>
#include <cstring>
#include <lmdb.h>

#include "cache/lmdb_store.h"

namespace encode {
namespace {

constexpr uint64_t kMostBlocks = uint64_t{1} << 62;
constexpr int64_t kMostSeconds = 253'402'300'799;  // the end of the year 9999

template <typename T>
MDB_val value_of(T& object) {
  return {.mv_size = sizeof object, .mv_data = &object};
}

MDB_val value_of(std::span<const std::byte> bytes) {
  // LMDB does not change a key or a value that it only reads.
  return {.mv_size = bytes.size(), .mv_data = const_cast<std::byte*>(bytes.data())};
}

template <typename T>
std::optional<T> as(const MDB_val& value) {
  if (value.mv_size != sizeof(T)) return std::nullopt;
  T object;
  std::memcpy(&object, value.mv_data, sizeof object);
  return object;
}

LmdbKey key_of_number(const uint64_t& number) { return std::as_bytes(std::span(&number, 1)); }

std::span<const std::byte> bytes_of(const MDB_val& value) {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

class Cursor {
 public:
  Cursor(MDB_txn* transaction, MDB_dbi table) {
    result_ = mdb_cursor_open(transaction, table, &cursor_);
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() {
    if (result_ == MDB_SUCCESS) mdb_cursor_close(cursor_);
  }
  int get(MDB_val& key, MDB_val& value, MDB_cursor_op operation) const {
    return result_ != MDB_SUCCESS ? result_ : mdb_cursor_get(cursor_, &key, &value, operation);
  }

 private:
  MDB_cursor* cursor_ = nullptr;
  int result_;
};

}  // namespace

LmdbStore::Reading::Reading(LmdbStore& store, Check check)
    : Reading(store,
              check == Check::kNothing ? store.begin(MDB_RDONLY)
                                       : store.begin_checked(MDB_RDONLY, check),
              "reads it") {}

LmdbStore::Reading::Reading(LmdbStore& store, MDB_txn* transaction, const char* action)
    : store_(store),
      transaction_(transaction),
      step_(store.watch_, action, [this] { return operations_.load(std::memory_order_relaxed); }) {}

// A load and a store are enough, because only the thread of the transaction writes the counter.
void LmdbStore::Reading::note_progress() const {
  operations_.store(operations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

LmdbStore::Reading::~Reading() {
  if (transaction_ == nullptr) return;
  mdb_txn_abort(transaction_);
  store_.tables_.mapping.unlock_shared();
}

// Looks for an entry of a table. Replaces `name` by the key of the entry that was found.
std::optional<MDB_val> LmdbStore::Reading::get(MDB_dbi table, MDB_val& name, Seek seek) const {
  note_progress();
  if (!store_.tables_.exist) return std::nullopt;
  MDB_val value = {};
  int result = MDB_SUCCESS;
  if (seek == Seek::kEqual) {
    result = mdb_get(transaction_, table, &name, &value);
  } else {
    const Cursor cursor(transaction_, table);
    const std::span<const std::byte> wanted = bytes_of(name);
    const bool first = seek == Seek::kFirst;
    const bool last = seek == Seek::kLast;
    result = cursor.get(name, value, first ? MDB_FIRST : last ? MDB_LAST : MDB_SET_RANGE);
    if (seek == Seek::kAbove && result == MDB_SUCCESS && std::ranges::equal(bytes_of(name), wanted))
      result = cursor.get(name, value, MDB_NEXT);
  }
  if (result == MDB_NOTFOUND) return std::nullopt;
  if (result != MDB_SUCCESS) store_.fail(result, "read");
  return value;
}

std::optional<RecordPlace> LmdbStore::Reading::place(const EmbeddingKey& key) const {
  MDB_val name = value_of(std::span<const std::byte>(key.bytes));
  const std::optional<MDB_val> found = get(store_.tables_.index, name, Seek::kEqual);
  return found ? as<RecordPlace>(*found) : std::nullopt;
}

std::optional<std::span<const std::byte>> LmdbStore::Reading::block(uint64_t number) const {
  MDB_val name = value_of(number);
  const std::optional<MDB_val> found = get(store_.tables_.blocks, name, Seek::kEqual);
  if (!found) return std::nullopt;
  return bytes_of(*found);
}

// Returns the number of the block that LMDB has found. Throws if it is below `number` (the numbers
// of a walk over the blocks must grow, so that the walk ends), above kMostBlocks, or no number.
uint64_t LmdbStore::Reading::risen(const MDB_val& name, uint64_t number) const {
  const auto found = as<uint64_t>(name);
  if (!found || *found < number || *found > kMostBlocks) store_.fail(MDB_CORRUPTED, "read");
  return *found;
}

std::optional<std::pair<uint64_t, std::span<const std::byte>>> LmdbStore::Reading::next_block(
    uint64_t number) const {
  MDB_val name = value_of(number);
  const std::optional<MDB_val> found = get(store_.tables_.blocks, name, Seek::kAtLeast);
  if (!found) return std::nullopt;
  return std::pair(risen(name, number), bytes_of(*found));
}

std::optional<std::pair<EmbeddingKey, RecordPlace>> LmdbStore::Reading::next_place(
    const std::optional<EmbeddingKey>& after) const {
  MDB_val name = after ? value_of(std::span<const std::byte>(after->bytes)) : MDB_val{};
  const std::optional<MDB_val> found =
      get(store_.tables_.index, name, after ? Seek::kAbove : Seek::kFirst);
  if (!found) return std::nullopt;
  const auto key = as<EmbeddingKey>(name);
  const auto place = as<RecordPlace>(*found);
  const bool rises = key && (!after || key->bytes > after->bytes);
  if (!rises || !place) store_.fail(MDB_CORRUPTED, "read");
  return std::pair(*key, *place);
}

std::optional<std::pair<uint64_t, int64_t>> LmdbStore::Reading::next_use(uint64_t number) const {
  MDB_val name = value_of(number);
  const std::optional<MDB_val> found = get(store_.tables_.uses, name, Seek::kAtLeast);
  if (!found) return std::nullopt;
  const auto seconds = as<int64_t>(*found);
  if (!seconds || *seconds < 0 || *seconds > kMostSeconds) store_.fail(MDB_CORRUPTED, "read");
  return std::pair(risen(name, number), *seconds);
}

int64_t LmdbStore::Reading::rows() const {
  MDB_stat stat = {};
  if (store_.tables_.exist) mdb_stat(transaction_, store_.tables_.index, &stat);
  return static_cast<int64_t>(stat.ms_entries);
}

int64_t LmdbStore::Reading::blocks() const {
  MDB_stat stat = {};
  if (store_.tables_.exist) mdb_stat(transaction_, store_.tables_.blocks, &stat);
  return static_cast<int64_t>(stat.ms_entries);
}

int64_t LmdbStore::Reading::live_bytes() const {
  if (!store_.tables_.exist) return 0;
  int64_t bytes = 0;
  for (const MDB_dbi table : {store_.tables_.blocks, store_.tables_.index, store_.tables_.uses}) {
    MDB_stat stat = {};
    mdb_stat(transaction_, table, &stat);
    bytes += static_cast<int64_t>(
        (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize);
  }
  return bytes;
}

LmdbStore::Writing::Writing(LmdbStore& store)
    : store_(store),
      transaction_(store.begin_checked(0, Reading::Check::kNothing)),
      reading_(store, transaction_, "writes to it") {}

LmdbStore::Writing::~Writing() {
  reading_.transaction_ = nullptr;  // so that ~Reading() does not end the transaction again
  if (open_) mdb_txn_abort(transaction_);
  store_.tables_.mapping.unlock_shared();
}

void LmdbStore::Writing::check(int result, const char* action) const {
  if (result == MDB_MAP_FULL || result == MDB_TXN_FULL) throw StoreFull();
  if (result != MDB_SUCCESS) store_.fail(result, action);
}

void LmdbStore::Writing::put(MDB_dbi table, MDB_val name, MDB_val value, unsigned int flags) {
  check(mdb_put(transaction_, table, &name, &value, flags), "write");
}

void LmdbStore::Writing::remove(MDB_dbi table, MDB_val name) {
  const int result = mdb_del(transaction_, table, &name, nullptr);
  if (result != MDB_NOTFOUND) check(result, "delete from");
}

void LmdbStore::Writing::check_path(LmdbTable table, LmdbKey key, LmdbPages::Extent extent) const {
  reading_.note_progress();
  store_.pages_->check_path(table, key, extent);
}

std::optional<std::span<const std::byte>> LmdbStore::Writing::block(uint64_t number) const {
  check_path(LmdbTable::kBlocks, key_of_number(number), LmdbPages::Extent::kNeighbours);
  return reading_.block(number);
}

uint64_t LmdbStore::Writing::add_block(std::span<const std::byte> records) {
  check_path(LmdbTable::kBlocks, key_of_number(kMostBlocks), LmdbPages::Extent::kPath);
  MDB_val name = {};
  const bool any = reading_.get(store_.tables_.blocks, name, Reading::Seek::kLast).has_value();
  uint64_t number = any ? as<uint64_t>(name).value_or(kMostBlocks) + 1 : 0;
  if (number > kMostBlocks) store_.fail(MDB_CORRUPTED, "read");
  put(store_.tables_.blocks, value_of(number), value_of(records), MDB_APPEND);
  return number;
}

void LmdbStore::Writing::set_place(const EmbeddingKey& key, const RecordPlace& place) {
  check_path(LmdbTable::kIndex, key.bytes, LmdbPages::Extent::kPath);
  put(store_.tables_.index, value_of(std::span<const std::byte>(key.bytes)),
      value_of(std::as_bytes(std::span(&place, 1))));
}

void LmdbStore::Writing::set_use(uint64_t block, int64_t seconds) {
  check_path(LmdbTable::kUses, key_of_number(block), LmdbPages::Extent::kPath);
  put(store_.tables_.uses, value_of(block), value_of(seconds));
}

void LmdbStore::Writing::remove_place(const EmbeddingKey& key) {
  check_path(LmdbTable::kIndex, key.bytes, LmdbPages::Extent::kNeighbours);
  remove(store_.tables_.index, value_of(std::span<const std::byte>(key.bytes)));
}

void LmdbStore::Writing::remove_block(uint64_t number) {
  for (const LmdbTable table : {LmdbTable::kBlocks, LmdbTable::kUses})
    check_path(table, key_of_number(number), LmdbPages::Extent::kNeighbours);
  for (const MDB_dbi table : {store_.tables_.blocks, store_.tables_.uses})
    remove(table, value_of(number));
}

void LmdbStore::Writing::commit() {
  open_ = false;  // mdb_txn_commit() frees the transaction also if it fails
  check(mdb_txn_commit(transaction_), "write");
}

}  // namespace encode
