#include "cache/lmdb_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <lmdb.h>
#include <mutex>
#include <shared_mutex>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "encode/error.h"

#include "base/system_call.h"
#include "base/units.h"

namespace encode {
namespace {

constexpr unsigned int kMaxTables = 3;
constexpr unsigned int kMaxReaders = 512;
constexpr mdb_mode_t kMode = 0666;

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

// LMDB says EIO when a write was cut short. A full disk cuts a write short.
int reason_of(int result, const std::string& path) {
  constexpr uint64_t kFullBytes = 1 << 20;
  struct statvfs disk = {};
  const bool full = result == EIO && ::statvfs(path.c_str(), &disk) == 0 &&
                    uint64_t{disk.f_bavail} * disk.f_frsize < kFullBytes;
  return full ? ENOSPC : result;
}

bool is_damage(int result) {
  constexpr auto kDamage = std::to_array<int>({MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID,
                                               MDB_VERSION_MISMATCH, MDB_PANIC, MDB_BAD_TXN,
                                               MDB_INCOMPATIBLE, MDB_CURSOR_FULL, MDB_PAGE_FULL});
  return std::find(kDamage.begin(), kDamage.end(), result) != kDamage.end();
}

}  // namespace

struct LmdbStore::Tables {
  MDB_dbi blocks = 0;
  MDB_dbi index = 0;
  MDB_dbi uses = 0;
  bool exist = false;  // false: nothing was ever written, and the store is open for reading only
  // Transactions hold it shared. To map a file that another process has made larger, there must be
  // none.
  std::shared_mutex mapping;
};

LmdbStore::LmdbStore(CacheFolder folder, int64_t limit_bytes, Access access)
    : folder_(std::move(folder)), tables_(std::make_unique<Tables>()) {
  try {
    open_environment(limit_bytes, access);
    open_tables(access);
  } catch (...) {
    mdb_env_close(environment_);
    throw;
  }
}

LmdbStore::~LmdbStore() { mdb_env_close(environment_); }

void LmdbStore::open_environment(int64_t limit_bytes, Access access) {
  if (const int result = mdb_env_create(&environment_); result != MDB_SUCCESS)
    fail(result, "begin to open");
  mdb_env_set_maxdbs(environment_, kMaxTables);
  mdb_env_set_maxreaders(environment_, kMaxReaders);
  if (limit_bytes > 0) mdb_env_set_mapsize(environment_, static_cast<size_t>(limit_bytes));
  // MDB_NOMETASYNC: a power cut may undo the last change, but never tears it. MDB_NOTLS: a reader
  // belongs to its object and not to its thread.
  unsigned int flags = MDB_NOTLS | MDB_NOMETASYNC;
  if (access == Access::kRead) flags |= MDB_RDONLY;
  const int result = mdb_env_open(environment_, folder_.path.c_str(), flags, kMode);
  if (result != MDB_SUCCESS) fail(result, "open");
  // Frees the places of readers that were killed.
  int dead = 0;
  mdb_reader_check(environment_, &dead);
  // Reading a mapped page behind the end of the file would end the process.
  MDB_envinfo info = {};
  MDB_stat stat = {};
  mdb_env_info(environment_, &info);
  mdb_env_stat(environment_, &stat);
  struct stat file = {};
  if (retried([&] { return ::stat(folder_.data().c_str(), &file); }) != 0)
    throw system_error("cache.store", "look at", folder_.data(), errno);
  const auto needed = static_cast<int64_t>((info.me_last_pgno + 1) * stat.ms_psize);
  if (file.st_size < needed) fail(MDB_CORRUPTED, "open");
}

void LmdbStore::open_tables(Access access) {
  const unsigned int create = access == Access::kWrite ? MDB_CREATE : 0;
  MDB_txn* transaction = begin(access == Access::kWrite ? 0 : MDB_RDONLY);
  const auto open = [&](const char* name, unsigned int flags, MDB_dbi& table) {
    return mdb_dbi_open(transaction, name, flags | create, &table);
  };
  int result = open("blocks", MDB_INTEGERKEY, tables_->blocks);
  if (result == MDB_SUCCESS) result = open("index", 0, tables_->index);
  if (result == MDB_SUCCESS) result = open("uses", MDB_INTEGERKEY, tables_->uses);
  tables_->exist = result == MDB_SUCCESS;
  if (result != MDB_SUCCESS) {
    mdb_txn_abort(transaction);
  } else {
    result = mdb_txn_commit(transaction);
  }
  tables_->mapping.unlock_shared();
  const bool empty = access == Access::kRead && result == MDB_NOTFOUND;
  if (result != MDB_SUCCESS && !empty) fail(result, "open the tables of");
}

// Returns a transaction, and holds Tables::mapping shared for it.
MDB_txn* LmdbStore::begin(unsigned int flags) {
  MDB_txn* transaction = nullptr;
  tables_->mapping.lock_shared();
  int result = mdb_txn_begin(environment_, nullptr, flags, &transaction);
  while (result == MDB_MAP_RESIZED) {
    tables_->mapping.unlock_shared();
    {
      const std::unique_lock alone(tables_->mapping);
      mdb_env_set_mapsize(environment_, 0);
    }
    tables_->mapping.lock_shared();
    result = mdb_txn_begin(environment_, nullptr, flags, &transaction);
  }
  if (result == MDB_SUCCESS) return transaction;
  tables_->mapping.unlock_shared();
  fail(result, "begin to use");
}

void LmdbStore::fail(int result, const char* action) const {
  if (is_damage(result)) {
    throw Error({.exit_code = ExitCode::kData,
                 .code = "cache.damaged",
                 .what = "the store of the embedding cache is damaged",
                 .where = folder_.data(),
                 .expected = "a file of LMDB that is complete",
                 .found = mdb_strerror(result),
                 .hint = "delete the content with: encode cache clear --dir " + folder_.path});
  }
  if (result > 0)
    throw system_error("cache.store", action, folder_.data(), reason_of(result, folder_.path));
  throw Error({.exit_code = ExitCode::kIoError,
               .code = "cache.store",
               .what = fmt::format("cannot {} the store of the embedding cache", action),
               .where = folder_.data(),
               .expected = "a store that can be used",
               .found = mdb_strerror(result),
               .hint = "run without the cache, or with a larger semantic.embedding_cache.disk"});
}

int64_t LmdbStore::file_bytes() const {
  struct stat file = {};
  if (retried([&] { return ::stat(folder_.data().c_str(), &file); }) != 0) return 0;
  return file.st_size;
}

void LmdbStore::write_compacted() {
  const std::string path = folder_.compacted();
  remove_file(path);
  const UniqueFd fd(
      retried([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode); }));
  if (!fd) throw system_error("cache.store", "create", path, errno);
  const int result = mdb_env_copyfd2(environment_, fd.get(), MDB_CP_COMPACT);
  if (result == MDB_SUCCESS && retried([&] { return ::fsync(fd.get()); }) == 0) return;
  const int reason = result != MDB_SUCCESS ? result : errno;
  ::unlink(path.c_str());
  fail(reason, "copy");
}

LmdbStore::Reading::Reading(LmdbStore& store) : Reading(store, store.begin(MDB_RDONLY)) {}

LmdbStore::Reading::~Reading() {
  if (transaction_ == nullptr) return;
  mdb_txn_abort(transaction_);
  store_.tables_->mapping.unlock_shared();
}

std::optional<RecordPlace> LmdbStore::Reading::place(const EmbeddingKey& key) const {
  if (!store_.tables_->exist) return std::nullopt;
  MDB_val name = value_of(std::span<const std::byte>(key.bytes));
  MDB_val found = {};
  const int result = mdb_get(transaction_, store_.tables_->index, &name, &found);
  if (result == MDB_NOTFOUND) return std::nullopt;
  if (result != MDB_SUCCESS) store_.fail(result, "read");
  return as<RecordPlace>(found);
}

std::optional<std::span<const std::byte>> LmdbStore::Reading::block(uint64_t number) const {
  if (!store_.tables_->exist) return std::nullopt;
  MDB_val name = value_of(number);
  MDB_val found = {};
  const int result = mdb_get(transaction_, store_.tables_->blocks, &name, &found);
  if (result == MDB_NOTFOUND) return std::nullopt;
  if (result != MDB_SUCCESS) store_.fail(result, "read");
  return bytes_of(found);
}

std::optional<std::pair<uint64_t, std::span<const std::byte>>> LmdbStore::Reading::next_block(
    uint64_t number) const {
  if (!store_.tables_->exist) return std::nullopt;
  MDB_val name = value_of(number);
  MDB_val found = {};
  const int result = Cursor(transaction_, store_.tables_->blocks).get(name, found, MDB_SET_RANGE);
  if (result == MDB_NOTFOUND) return std::nullopt;
  if (result != MDB_SUCCESS) store_.fail(result, "read");
  return std::pair(as<uint64_t>(name).value_or(0), bytes_of(found));
}

std::optional<std::pair<EmbeddingKey, RecordPlace>> LmdbStore::Reading::next_place(
    const std::optional<EmbeddingKey>& after) const {
  if (!store_.tables_->exist) return std::nullopt;
  const Cursor cursor(transaction_, store_.tables_->index);
  MDB_val name = {};
  MDB_val found = {};
  int result = MDB_SUCCESS;
  if (after) {
    name = value_of(std::span<const std::byte>(after->bytes));
    result = cursor.get(name, found, MDB_SET_RANGE);
    if (result == MDB_SUCCESS && as<EmbeddingKey>(name) == after)
      result = cursor.get(name, found, MDB_NEXT);
  } else {
    result = cursor.get(name, found, MDB_FIRST);
  }
  if (result == MDB_NOTFOUND) return std::nullopt;
  if (result != MDB_SUCCESS) store_.fail(result, "read");
  const auto key = as<EmbeddingKey>(name);
  const auto place = as<RecordPlace>(found);
  if (!key || !place) store_.fail(MDB_CORRUPTED, "read");
  return std::pair(*key, *place);
}

std::optional<std::pair<uint64_t, int64_t>> LmdbStore::Reading::next_use(uint64_t number) const {
  if (!store_.tables_->exist) return std::nullopt;
  MDB_val name = value_of(number);
  MDB_val found = {};
  const int result = Cursor(transaction_, store_.tables_->uses).get(name, found, MDB_SET_RANGE);
  if (result == MDB_NOTFOUND) return std::nullopt;
  if (result != MDB_SUCCESS) store_.fail(result, "read");
  return std::pair(as<uint64_t>(name).value_or(0), as<int64_t>(found).value_or(0));
}

int64_t LmdbStore::Reading::rows() const {
  MDB_stat stat = {};
  if (store_.tables_->exist) mdb_stat(transaction_, store_.tables_->index, &stat);
  return static_cast<int64_t>(stat.ms_entries);
}

int64_t LmdbStore::Reading::blocks() const {
  MDB_stat stat = {};
  if (store_.tables_->exist) mdb_stat(transaction_, store_.tables_->blocks, &stat);
  return static_cast<int64_t>(stat.ms_entries);
}

int64_t LmdbStore::Reading::live_bytes() const {
  if (!store_.tables_->exist) return 0;
  int64_t bytes = 0;
  for (const MDB_dbi table :
       {store_.tables_->blocks, store_.tables_->index, store_.tables_->uses}) {
    MDB_stat stat = {};
    mdb_stat(transaction_, table, &stat);
    bytes += static_cast<int64_t>(
        (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize);
  }
  return bytes;
}

LmdbStore::Writing::Writing(LmdbStore& store)
    : store_(store), transaction_(store.begin(0)), reading_(store, transaction_) {}

LmdbStore::Writing::~Writing() {
  reading_.transaction_ = nullptr;  // the transaction ends here and not there
  if (open_) mdb_txn_abort(transaction_);
  store_.tables_->mapping.unlock_shared();
}

void LmdbStore::Writing::check(int result, const char* action) const {
  if (result == MDB_MAP_FULL || result == MDB_TXN_FULL) throw StoreFull();
  if (result != MDB_SUCCESS) store_.fail(result, action);
}

uint64_t LmdbStore::Writing::add_block(std::span<const std::byte> records) {
  MDB_val name = {};
  MDB_val value = {};
  const int last = Cursor(transaction_, store_.tables_->blocks).get(name, value, MDB_LAST);
  if (last != MDB_NOTFOUND) check(last, "read");
  uint64_t number = last == MDB_NOTFOUND ? 0 : as<uint64_t>(name).value_or(0) + 1;
  name = value_of(number);
  value = value_of(records);
  check(mdb_put(transaction_, store_.tables_->blocks, &name, &value, MDB_APPEND), "write");
  return number;
}

void LmdbStore::Writing::set_place(const EmbeddingKey& key, const RecordPlace& place) {
  MDB_val name = value_of(std::span<const std::byte>(key.bytes));
  MDB_val value = value_of(std::as_bytes(std::span(&place, 1)));
  check(mdb_put(transaction_, store_.tables_->index, &name, &value, 0), "write");
}

void LmdbStore::Writing::set_use(uint64_t block, int64_t seconds) {
  MDB_val name = value_of(block);
  MDB_val value = value_of(seconds);
  check(mdb_put(transaction_, store_.tables_->uses, &name, &value, 0), "write");
}

void LmdbStore::Writing::remove_place(const EmbeddingKey& key) {
  MDB_val name = value_of(std::span<const std::byte>(key.bytes));
  const int result = mdb_del(transaction_, store_.tables_->index, &name, nullptr);
  if (result != MDB_NOTFOUND) check(result, "delete from");
}

void LmdbStore::Writing::remove_block(uint64_t number) {
  for (const MDB_dbi table : {store_.tables_->blocks, store_.tables_->uses}) {
    MDB_val name = value_of(number);
    const int result = mdb_del(transaction_, table, &name, nullptr);
    if (result != MDB_NOTFOUND) check(result, "delete from");
  }
}

void LmdbStore::Writing::commit() {
  open_ = false;  // mdb_txn_commit() frees the transaction also if it fails
  check(mdb_txn_commit(transaction_), "write");
}

}  // namespace encode
